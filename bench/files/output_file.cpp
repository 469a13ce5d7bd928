// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_descriptor.hpp>
#include <prumo/files/file_identity.hpp>
#include <prumo/files/output_file.hpp>
#include <prumo/files/replacement.hpp>
#include <prumo/files/sanitize.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <utility>

namespace prumo::bench {
namespace {

constexpr const char* refused = "cannot be written";

/// A device that hands on what is written to it, or drops it as /dev/null is meant to. All others lose it (/dev/full)
/// or are worth more than a table (a disk).
bool is_fit_device(const std::string& path) {
  if (!identify_output(path)) return true;  // /dev/null
  const file_descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  return file && ::isatty(file.get()) == 1;
}

/// Opens a pipe as soon as it has a reader, who may start a little later than prumo.
file_descriptor open_stream(const std::string& path) {
  constexpr std::chrono::seconds limit(5);
  constexpr std::chrono::milliseconds pause(20);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    file_descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (file) {
      ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    if (errno != ENXIO) throw_system_error(path, refused, errno);
    if (std::chrono::steady_clock::now() - begin >= limit) {
      throw file_error(file_error::cause::io, sanitize(path) + ": is a pipe from which nobody reads");
    }
    std::this_thread::sleep_for(pause);
  }
}

/// Absent if there is no file.
std::optional<content_identity> identify_content(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::optional<file_identity> file = identify_output(path);
  if (!file) return std::nullopt;
  std::error_code ignored;
  return content_identity{*file, status.st_size, std::filesystem::last_write_time(path, ignored)};
}

bool write_parts(int file, std::span<const std::string_view> parts) {
  return std::ranges::all_of(parts, [&](std::string_view part) { return write_all(file, part); });
}

void write_to_standard_output(std::span<const std::string_view> parts) {
  if (std::fflush(stdout) != 0 || !write_parts(STDOUT_FILENO, parts)) {
    throw_system_error("standard output", refused, errno);
  }
}

}  // namespace

output_file::output_file(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  if (bench::is_standard_output(path_)) {
    kind_ = kind::standard_output;
    return;
  }
  target_ = follow_links(path_);
  find_kind();
  if (kind_ != kind::regular) return;
  lock_ = file_lock(target_);
  struct stat status{};
  had_content_ = ::stat(target_.c_str(), &status) == 0 && status.st_size != 0;
  known_ = identify_content(target_);
  replacement trial(target_);
  trial.check_space();
  losses_ = trial.losses();
}

void output_file::find_kind() {
  kind_ = kind::regular;
  struct stat status{};
  if (::stat(target_.c_str(), &status) != 0) return;  // a new file
  if (S_ISDIR(status.st_mode)) refuse_file(path_, "is a folder; name a file in it");
  if (S_ISREG(status.st_mode)) {
    if (::access(target_.c_str(), W_OK) != 0) throw_system_error(path_, refused, errno);
    return;
  }
  kind_ = kind::stream;
  if (S_ISFIFO(status.st_mode) || (S_ISCHR(status.st_mode) && is_fit_device(target_))) return;
  refuse_file(path_, "is a device that does not keep what is written to it; name a file, a pipe or /dev/null");
}

void output_file::regain_lock() const {
  if (!lock_.is_lost()) return;
  file_lock regained(target_);
  const auto now = identify_content(target_);
  if (now && now != known_) {
    refuse_file(path_, "is another file now, which took the name while its folder was away, so it is not overwritten");
  }
  lock_ = std::move(regained);
}

void output_file::replace_content(std::span<const std::string_view> parts) const {
  try {
    regain_lock();
    replacement(target_).put(parts);
    known_ = identify_content(target_);
  } catch (const file_error& error) {
    // What has happened since the file was opened is no mistake of the user's.
    throw file_error(file_error::cause::io, error.what());
  }
}

void output_file::write(std::string_view content) const { write_parts(std::array{content}); }

void output_file::write_parts(std::span<const std::string_view> parts) const {
  switch (kind_) {
    case kind::none: return;
    case kind::standard_output: write_to_standard_output(parts); return;
    case kind::regular: replace_content(parts); return;
    case kind::stream: break;
  }
  const file_descriptor file = open_stream(target_);
  if (!bench::write_parts(file.get(), parts)) throw_system_error(path_, refused, errno);
}

}  // namespace prumo::bench
