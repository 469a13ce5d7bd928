// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_error.hpp>
#include <prumo/files/file_identity.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool is_null_device(const struct stat& status) {
  struct stat null_device{};
  return S_ISCHR(status.st_mode) && ::stat("/dev/null", &null_device) == 0 && status.st_rdev == null_device.st_rdev;
}

std::optional<file_identity> identity_of(const struct stat& status) {
  if (is_null_device(status)) return std::nullopt;
  return file_identity{status.st_dev, status.st_ino, {}};
}

std::optional<file_identity> identify_open(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 ? identity_of(status) : std::nullopt;
}

std::optional<file_identity> identify_path(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) return identity_of(status);
  const fs::path target = follow_links(path);
  if (::stat(folder_of(target).c_str(), &status) != 0) return std::nullopt;
  return file_identity{status.st_dev, status.st_ino, target.filename().string()};
}

/// Linux follows the same rule where fs.protected_symlinks is set.
bool may_be_a_trap(const fs::path& link) {
  struct stat own{};
  struct stat folder{};
  if (::lstat(link.c_str(), &own) != 0 || ::stat(folder_of(link).c_str(), &folder) != 0) return false;
  const bool for_everybody = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return for_everybody && own.st_uid != ::geteuid() && own.st_uid != folder.st_uid;
}

}  // namespace

bool is_standard_input(std::string_view path) {
  constexpr std::array<std::string_view, 4> names{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
  return std::ranges::find(names, path) != names.end();
}

bool is_standard_output(std::string_view path) {
  constexpr std::array<std::string_view, 4> names{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::ranges::find(names, path) != names.end();
}

std::optional<file_identity> identify_input(const std::string& path) {
  return is_standard_input(path) ? identify_open(STDIN_FILENO) : identify_path(path);
}

std::optional<file_identity> identify_output(const std::string& path) {
  return is_standard_output(path) ? identify_open(STDOUT_FILENO) : identify_path(path);
}

std::optional<file_identity> identify_regular_file(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return identity_of(status);
}

std::string follow_links(const std::string& path) {
  constexpr int most_links = 40;
  fs::path target(path);
  std::error_code error;
  for (int links = 0; fs::is_symlink(target, error); ++links) {
    if (links == most_links) throw_system_error(path, "cannot be followed", ELOOP);
    if (may_be_a_trap(target)) {
      refuse_file(path,
                  "is a symbolic link that another user put into a folder where everybody may write, so it is not "
                  "followed; name another file");
    }
    const fs::path next = fs::read_symlink(target, error);
    if (error) break;
    fs::path goal = next.is_absolute() ? next : target.parent_path() / next;
    // The names of open pipes in /dev/fd look like links to nothing, but can be opened.
    if (!fs::exists(fs::symlink_status(goal, error)) && fs::exists(target, error)) break;
    target = std::move(goal);
  }
  return target.string();
}

}  // namespace prumo::bench
