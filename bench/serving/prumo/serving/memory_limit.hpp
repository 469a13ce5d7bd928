// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How much memory a case may take. Linux promises more than there is and kills later, so a case that does not fit is
/// refused before anything is allocated.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace prumo::protocol {

/// Bytes that can be had now without swapping: what the system calls available, and what the control groups of this
/// process leave, whichever is less. Unknown where the system does not tell.
std::optional<std::int64_t> available_memory_bytes();

/// The same read from the files under another root; for tests.
std::optional<std::int64_t> available_memory_bytes_linux(const std::filesystem::path& root);

/// What is left to the rest of the system and to this process itself.
std::int64_t memory_reserve_bytes(std::int64_t available);

/// Throws request_error (memory) with needed and available bytes where `needed` bytes and the reserve do not fit.
/// `what` begins the message: `add of 33554432 bytes an array`.
void require_memory(const std::string& what, std::int64_t needed);

}  // namespace prumo::protocol
