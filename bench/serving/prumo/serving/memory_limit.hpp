// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How much memory a case may use. Linux promises more memory than there is, and kills processes later. So a case that
/// does not fit is refused before anything is allocated.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace prumo::protocol {

/// The bytes that can be allocated now without swapping: what the system calls available or what the control groups of
/// this process leave, whichever is less. Unknown if the system does not say.
std::optional<std::int64_t> available_memory_bytes();

/// The same read from the files under another root; for tests.
std::optional<std::int64_t> available_memory_bytes_linux(const std::filesystem::path& root);

/// The reserve for the rest of the system and for this process itself.
std::int64_t memory_reserve_bytes(std::int64_t available);

/// If `needed` bytes and the reserve do not fit, throws request_error (memory) with the needed and available bytes.
/// `what` begins the message: `add of 33554432 bytes an array`.
void require_memory(const std::string& what, std::int64_t needed);

/// a * b and a + b of sizes that a request asks for: the largest number where they overflow, which is beyond any
/// machine.
std::int64_t bytes_product(std::int64_t a, std::int64_t b);
std::int64_t bytes_sum(std::int64_t a, std::int64_t b);

}  // namespace prumo::protocol
