// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace prumo::bench {

/// What a file is, whatever its name: device and inode. A file that is not there yet is its folder and a name in it.
struct file_identity {
  dev_t device = 0;
  ino_t node = 0;
  std::string name;  ///< only of a file that is not there yet

  bool operator==(const file_identity&) const = default;
};

/// The identity of the file to which a path leads; `-` and /dev/stdin are standard input. Absent for /dev/null, which
/// holds nothing, and if the path leads nowhere.
[[nodiscard]] std::optional<file_identity> identify_input(const std::string& path);

/// The same for a file to write; `-` and /dev/stdout are standard output.
[[nodiscard]] std::optional<file_identity> identify_output(const std::string& path);

/// The identity of an open regular file; absent for everything else.
[[nodiscard]] std::optional<file_identity> identify_regular_file(int descriptor);

/// True for `-` and the names that the system has for standard input or standard output.
[[nodiscard]] bool is_standard_input(std::string_view path);
[[nodiscard]] bool is_standard_output(std::string_view path);

/// Where symbolic links lead, also to a file that is not there yet.
/// \throws file_error for a link that another user put into a folder in which everybody may write, such as /tmp: it
///         could lead to a file of the victim's
[[nodiscard]] std::string follow_links(const std::string& path);

}  // namespace prumo::bench
