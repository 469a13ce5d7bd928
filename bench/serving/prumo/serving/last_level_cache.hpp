// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace prumo::protocol {

/// The bytes of all last-level caches that these processors of Linux use, or 0 where the system does not tell. It is
/// the number that prumo's own workers tell for the host. So the arrays of cold cases are equally cold for all of them.
///
/// \param system the folder /sys/devices/system/cpu
std::size_t last_level_cache_bytes(const std::filesystem::path& system, const std::vector<int>& processors);

/// The same for the processors that this process may use; 32 MiB where the system does not tell. The system is asked
/// once.
std::size_t last_level_cache_bytes();

}  // namespace prumo::protocol
