// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../system_files.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace prumo::machine::host {

/// A folder that stands for the root of a system.
class made_up_system {
 public:
  made_up_system() {
    static std::atomic<int> count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("prumo_system_test_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
  }
  ~made_up_system() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  made_up_system(const made_up_system&) = delete;
  made_up_system& operator=(const made_up_system&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const auto file = folder_ / std::filesystem::path(path).relative_path();
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  system_files files() const { return system_files(folder_); }

 private:
  std::filesystem::path folder_;
};

}  // namespace prumo::machine::host
