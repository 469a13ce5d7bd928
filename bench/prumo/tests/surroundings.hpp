// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What tests need around a program or a function: folders, files and variables of the environment.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace prumo::bench::test {

/// A folder of this test that vanishes with it.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// How many files and folders are in it.
  [[nodiscard]] std::size_t size() const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

/// Writes a program of these lines for the shell.
void write_script(const std::string& path, const std::string& lines);

/// A variable of the environment for the length of a test; without a value it is unset.
class scoped_variable {
 public:
  scoped_variable(const char* name, const std::optional<std::string>& value);
  ~scoped_variable();
  scoped_variable(const scoped_variable&) = delete;
  scoped_variable& operator=(const scoped_variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace prumo::bench::test
