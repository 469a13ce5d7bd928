// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/file_descriptor.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// New content for a regular file, which is there or not. It is written to a file `.NAME.new` beside it, which takes
/// its place at once, so that readers see the old or the new content, never a part. Owner, permissions, extended
/// attributes and access lists are those of the old file. The caller holds the file's lock, so a file `.NAME.new` that
/// is there already was left behind by a run that was killed.
class replacement {
 public:
  /// Makes the empty new file. It vanishes with this object unless it has taken its place.
  /// \throws file_error where the system refuses
  explicit replacement(std::string target);
  ~replacement();
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;

  /// What the file will lose, each a sentence for the user.
  [[nodiscard]] const std::vector<std::string>& losses() const { return losses_; }

  /// Writes the content, part by part, and replaces the file.
  /// \throws file_error where the system refuses; the old content stays
  void put(std::span<const std::string_view> parts);

 private:
  void create();
  void adopt_properties();

  std::string target_;
  std::string name_;
  file_descriptor file_;
  bool in_place_ = false;
  std::vector<std::string> losses_;
};

}  // namespace prumo::bench
