// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// A sentence for each maker whose GPU this machine has while no worker serves it: what is there, and how to get a
/// worker. `backends` are those of the devices that workers offer, `device_files` is where the system keeps its own.
[[nodiscard]] std::vector<std::string> notes_on_unserved_gpus(std::span<const std::string> backends,
                                                              const std::filesystem::path& device_files = "/dev");

}  // namespace prumo::bench
