// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reads the small text files of an operating system, below a root folder that tests choose.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::machine::host {

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

/// A whole decimal number; none if the text has anything else but white space around it.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// A size in bytes, from how sysfs writes it: `512`, `32K`, `2M`, `1G`.
std::optional<std::int64_t> parse_size(std::string_view text);

/// A list of hardware threads as Linux writes it (`0-3,8,10-11`), sorted. Empty if the text is no such list.
std::vector<int> parse_cpu_list(std::string_view text);

/// Writes a list as Linux does.
std::string format_cpu_list(const std::vector<int>& cpus);

/// The value of the first line `key ... : value` of a text like /proc/cpuinfo or /proc/meminfo.
std::optional<std::string> field_of(std::string_view text, std::string_view key);

/// The lines of a text, without line ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// The files of the system, or of a folder that a test made.
class system_files {
 public:
  explicit system_files(std::filesystem::path root = "/") : root_(std::move(root)) {}

  /// The contents; none if the file cannot be read.
  std::optional<std::string> text(const std::string& path) const;

  /// The contents without white space at both ends; none if nothing is left, or if the file cannot be read.
  std::optional<std::string> word(const std::string& path) const;

  std::optional<std::int64_t> integer(const std::string& path) const;

  /// The names in a folder that begin with `beginning`, sorted.
  std::vector<std::string> names_in(const std::string& path, std::string_view beginning = {}) const;

  bool exists(const std::string& path) const;

 private:
  std::filesystem::path root_;
};

}  // namespace prumo::machine::host
