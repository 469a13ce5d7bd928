// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/files/file_error.hpp>
#include <prumo/files/file_identity.hpp>
#include <prumo/files/file_lock.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// A file with the content that it had at some time. Two of them differ if another file has taken the name, or somebody
/// has written to the file. Some file systems give a new file the inode of one that was just removed, so the inode
/// alone does not tell.
struct content_identity {
  file_identity file;
  std::int64_t bytes = 0;
  std::filesystem::file_time_type written;

  bool operator==(const content_identity&) const = default;
};

/// A file that a command writes, from the moment at which it is found fit until the command ends. No other prumo writes
/// to it meanwhile.
///
/// The path may also be empty (nothing is written), `-` (standard output), a pipe, a terminal or /dev/null. These are
/// streams: what is written there cannot be replaced, so it is written once, at the end.
class output_file {
 public:
  output_file() = default;

  /// Finds out whether the file could be written now, and locks it. What it holds stays.
  /// \throws file_error for a folder, another device, a file that another prumo writes, a link that should not be
  ///         followed (follow_links()), and where the system refuses
  explicit output_file(std::string path);

  /// As the user named it.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_none() const { return kind_ == kind::none; }
  [[nodiscard]] bool is_standard_output() const { return kind_ == kind::standard_output; }
  /// True for a file in a folder, whose content can be replaced again and again.
  [[nodiscard]] bool is_regular() const { return kind_ == kind::regular; }

  /// True if the file held something when it was opened.
  [[nodiscard]] bool had_content() const { return had_content_; }

  /// What the file will lose when it is replaced (links, an owner), each a sentence for the user.
  [[nodiscard]] const std::vector<std::string>& losses() const { return losses_; }

  /// Replaces the content of a regular file, so that readers see the old or the new content and never a part. Appends
  /// to a stream. Writes nothing where there is no file. If the folder vanished and is there again, the file is made
  /// anew, unless something else has taken its name.
  /// \throws file_error (io) that names the file and the system's reason; a regular file keeps its content then
  void write(std::string_view content) const;

  /// The same for content that lies in several places.
  void write_parts(std::span<const std::string_view> parts) const;

 private:
  enum class kind { none, standard_output, stream, regular };
  void find_kind();
  void regain_lock() const;
  void replace_content(std::span<const std::string_view> parts) const;

  std::string path_;
  std::string target_;  ///< where symbolic links lead
  kind kind_ = kind::none;
  bool had_content_ = false;
  std::vector<std::string> losses_;
  // What write() has to know of the regular file. To its caller nothing changes but the file.
  /// What the file was when it was opened or last written; absent: it was not there.
  mutable std::optional<content_identity> known_;
  mutable file_lock lock_;
};

}  // namespace prumo::bench
