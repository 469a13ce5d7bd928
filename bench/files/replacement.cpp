// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_error.hpp>
#include <prumo/files/file_lock.hpp>
#include <prumo/files/replacement.hpp>
#include <prumo/files/sanitize.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <utility>

#if defined(__linux__)
#include <sys/xattr.h>
#elif defined(__APPLE__)
#include <copyfile.h>
#endif

namespace prumo::bench {
namespace {

constexpr const char* refused = "cannot be written";

mode_t usual_permissions() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

#if defined(__linux__)
/// Access lists are attributes, too. False if one could not be kept.
bool copy_attributes(int from, int to) {
  const ssize_t size = ::flistxattr(from, nullptr, 0);
  if (size <= 0) return true;  // none, or a file system that has none
  std::string names(static_cast<std::size_t>(size), '\0');
  const ssize_t listed = ::flistxattr(from, names.data(), names.size());
  if (listed < 0) return false;
  names.resize(static_cast<std::size_t>(listed));
  bool all = true;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::string name = names.c_str() + begin;
    begin += name.size() + 1;
    const ssize_t length = ::fgetxattr(from, name.c_str(), nullptr, 0);
    std::string value(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
    const bool copied = length >= 0 && ::fgetxattr(from, name.c_str(), value.data(), value.size()) == length &&
                        ::fsetxattr(to, name.c_str(), value.data(), value.size(), 0) == 0;
    // The system gives each file a security label by its own rules.
    all = all && (copied || name.starts_with("security."));
  }
  return all;
}
#elif defined(__APPLE__)
bool copy_attributes(int from, int to) { return ::fcopyfile(from, to, nullptr, COPYFILE_ACL | COPYFILE_XATTR) == 0; }
#else
bool copy_attributes(int, int) { return true; }
#endif

/// Makes the rename survive a power cut, where the file system can.
void sync_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const file_descriptor folder(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_CLOEXEC));
  if (folder) (void)::fsync(folder.get());
}

}  // namespace

replacement::replacement(std::string target) : target_(std::move(target)), name_(beside(target_, "new")) {
  create();
  adopt_properties();
}

replacement::~replacement() {
  if (!in_place_) ::unlink(name_.c_str());
}

void replacement::create() {
  const auto open_new = [&] {
    return file_descriptor(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  };
  file_ = open_new();
  if (!file_ && errno == EEXIST) {
    if (::unlink(name_.c_str()) != 0) throw_system_error(name_, "is in the way and cannot be removed", errno);
    file_ = open_new();
  }
  if (!file_) throw_system_error(target_, refused, errno);
}

void replacement::adopt_properties() {
  const auto lose = [&](const std::string& what) { losses_.push_back(sanitize(target_) + ": " + what); };
  struct stat earlier{};
  const file_descriptor old(::open(target_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if ((old ? ::fstat(old.get(), &earlier) : ::stat(target_.c_str(), &earlier)) != 0) {
    (void)::fchmod(file_.get(), usual_permissions());  // some file systems have no permissions
    return;
  }
  struct stat own{};
  ::fstat(file_.get(), &own);
  const bool same_owner = own.st_uid == earlier.st_uid && own.st_gid == earlier.st_gid;
  if (!same_owner && ::fchown(file_.get(), earlier.st_uid, earlier.st_gid) != 0 &&
      ::fchown(file_.get(), static_cast<uid_t>(-1), earlier.st_gid) != 0) {
    lose("it will have you for its owner and your group, because only its owner and root could keep them");
  } else if (::fstat(file_.get(), &own) == 0 && own.st_uid != earlier.st_uid) {
    lose("it will have you for its owner, because only its owner and root could keep it");
  }
  if (!old || !copy_attributes(old.get(), file_.get())) lose("its extended attributes or access list will be lost");
  (void)::fchmod(file_.get(), earlier.st_mode & 07777);
  if (earlier.st_nlink > 1) {
    lose("it has " + std::to_string(earlier.st_nlink) + " names (hard links); the others will keep the older content");
  }
}

void replacement::put(std::span<const std::string_view> parts) {
  const auto write = [&](std::string_view part) { return write_all(file_.get(), part); };
  if (!std::ranges::all_of(parts, write) || (::fsync(file_.get()) != 0 && errno != EINVAL && errno != ENOTSUP)) {
    throw_system_error(target_, refused, errno);
  }
  if (!file_.close()) throw_system_error(target_, refused, errno);
  if (::rename(name_.c_str(), target_.c_str()) != 0) throw_system_error(target_, "cannot be replaced", errno);
  in_place_ = true;
  sync_folder_of(target_);
}

}  // namespace prumo::bench
