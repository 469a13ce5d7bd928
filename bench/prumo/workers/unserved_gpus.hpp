// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// A sentence for each maker if this machine has a GPU of it but no worker for it: what is there, and how to get a
/// worker. `backends` are the backends of the workers' devices, and `device_files` is the system's folder of device
/// files.
[[nodiscard]] std::vector<std::string> notes_on_unserved_gpus(std::span<const std::string> backends,
                                                              const std::filesystem::path& device_files = "/dev");

}  // namespace prumo::bench
