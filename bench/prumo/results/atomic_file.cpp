// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// write_file_atomically() of results_file.hpp.
#include "results/results_file.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, std::string_view what, int why) {
  // An absent folder is a mistyped path; everything else is the machine's refusal.
  const auto cause = why == ENOENT || why == ENOTDIR ? results_error::cause::input : results_error::cause::io;
  const std::string_view remedy = why == ENOSPC || why == EDQUOT ? "; free some space or name a file elsewhere"
                                  : why == EACCES || why == EPERM || why == EROFS
                                      ? "; name a file in a folder that you may write"
                                  : why == ENOENT || why == ENOTDIR ? "; create its folder first"
                                                                    : "";
  throw results_error(cause, fmt::format("{}: {}: {}{}", sanitize(path), what, std::strerror(why), remedy));
}

/// Writes all; false with errno set where the system refuses.
bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A new file beside its target that vanishes unless it was renamed.
class temporary_file {
 public:
  explicit temporary_file(const std::string& target) : target_(target), name_(target + ".XXXXXX") {
    file_ = mkstemp(name_.data());
    if (file_ < 0) fail(target, "cannot be written", errno);
    struct stat earlier{};
    mode_t mode = 0;
    if (stat(target.c_str(), &earlier) == 0) {
      mode = earlier.st_mode & 07777;
    } else {
      const mode_t mask = umask(0);
      umask(mask);
      mode = 0666 & ~mask;
    }
    (void)fchmod(file_, mode);  // some file systems have no permissions
  }
  ~temporary_file() {
    if (file_ >= 0) ::close(file_);
    if (!renamed_) ::unlink(name_.c_str());
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  void replace_target(std::string_view content) {
    if (!write_all(file_, content) || (::fsync(file_) != 0 && errno != EINVAL && errno != ENOTSUP)) {
      fail(target_, "cannot be written", errno);
    }
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0) fail(target_, "cannot be written", errno);
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "cannot be replaced", errno);
    renamed_ = true;
    sync_folder();
  }

 private:
  /// Makes the rename survive a power cut, where the file system can.
  void sync_folder() const {
    const fs::path parent = fs::path(target_).parent_path();
    const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_CLOEXEC);
    if (folder < 0) return;
    (void)::fsync(folder);
    ::close(folder);
  }

  std::string target_;
  std::string name_;
  int file_ = -1;
  bool renamed_ = false;
};

/// Where symbolic links lead, also to a file that is not there yet: renaming onto a link would replace the
/// link.
std::string resolve_links(const std::string& path) {
  fs::path target(path);
  std::error_code error;
  for (int links = 0; links < 40 && fs::is_symlink(target, error); ++links) {
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

void write_to_stream(const std::string& path, std::string_view content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) fail(path, "cannot be written", errno);
  const bool written = write_all(file, content);
  const int why = errno;
  ::close(file);
  if (!written) fail(path, "cannot be written", why);
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view content) {
  if (path == "-") {
    std::fflush(stdout);
    if (!write_all(STDOUT_FILENO, content)) fail("standard output", "cannot be written", errno);
    return;
  }
  const std::string target = resolve_links(path);
  std::error_code ignored;
  const fs::file_status status = fs::status(target, ignored);
  if (fs::is_directory(status)) {
    throw results_error(results_error::cause::input, fmt::format("{}: is a folder; name a file in it", sanitize(path)));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    write_to_stream(target, content);
    return;
  }
  temporary_file(target).replace_target(content);
}

void probe_writable(const std::string& path) {
  const std::string target = resolve_links(path);
  if (::access(target.c_str(), F_OK) == 0 && ::access(target.c_str(), W_OK) != 0) {
    fail(path, "cannot be written", errno);
  }
  const temporary_file probe(target);
}

}  // namespace prumo::bench
