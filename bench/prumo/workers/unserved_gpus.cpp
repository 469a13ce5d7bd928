// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/unserved_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace prumo::bench {
namespace {

struct maker {
  std::string_view name;
  std::string_view backend;
  std::string_view device_file;  ///< that its driver makes
};

constexpr maker makers[] = {{"NVIDIA", "cuda", "nvidia0"}, {"AMD", "hip", "kfd"}};

}  // namespace

std::vector<std::string> notes_on_unserved_gpus(std::span<const std::string> backends,
                                                const std::filesystem::path& device_files) {
  std::vector<std::string> notes;
  for (const maker& it : makers) {
    std::error_code ignored;
    if (!std::filesystem::exists(device_files / it.device_file, ignored)) continue;
    if (std::ranges::find(backends, it.backend) != backends.end()) continue;
    notes.push_back(
        fmt::format("there is an {} GPU ({}), but no worker for it. With a Kokkos that was built for this GPU, './dev "
                    "--kokkos PREFIX devices' or the CMake preset '{}' builds prumo-worker-{}",
                    it.name, (device_files / it.device_file).string(), it.backend, it.backend));
  }
  return notes;
}

}  // namespace prumo::bench
