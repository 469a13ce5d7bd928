// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/files/file_error.hpp>
#include <prumo/files/file_lock.hpp>
#include <prumo/files/sanitize.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <thread>
#include <utility>

namespace prumo::bench {
namespace {

/// The words by which another run learns who holds the lock.
std::string own_description() {
  struct utsname names{};
  const bool named = ::uname(&names) == 0;
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> when{};
  std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return "process " + std::to_string(::getpid()) + " on " + (named ? names.nodename : "an unknown host") + ", since " +
         when.data();
}

std::string description_in(int file) {
  std::array<char, 256> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return "a process that did not tell its number";
  return sanitize(std::string_view(text.data(), static_cast<std::size_t>(size)));
}

bool is_still_there(const std::string& path, int file) {
  struct stat named{};
  struct stat opened{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(file, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

enum class attempt { locked, held, unsupported };

attempt try_lock(int file) {
  int result = 0;
  do {
    result = ::flock(file, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return attempt::locked;
  return errno == EWOULDBLOCK ? attempt::held : attempt::unsupported;
}

/// Opens the lock file that is there. It is never written to: it could be anybody's.
file_descriptor open_earlier(const std::string& path) {
  constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  file_descriptor file(::open(path.c_str(), O_RDWR | flags));  // network file systems lock only what may be written
  if (!file && errno == EACCES) file = file_descriptor(::open(path.c_str(), O_RDONLY | flags));
  return file;
}

}  // namespace

std::string beside(const std::string& target, const char* suffix) {
  const std::filesystem::path path(target);
  return (path.parent_path() / ("." + path.filename().string() + "." + suffix)).string();
}

file_lock::file_lock(const std::string& target) : path_(beside(target, "lock")) {
  constexpr int tries = 50;
  constexpr std::chrono::milliseconds pause(10);
  std::string holder;
  for (int i = 0; i < tries; ++i) {
    file_descriptor fresh(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (fresh) {
      const attempt made = try_lock(fresh.get());
      if (made == attempt::unsupported) {
        ::unlink(path_.c_str());
        return;
      }
      // Another run may have taken the new file for one that was left behind.
      if (made != attempt::locked || !is_still_there(path_, fresh.get())) continue;
      (void)write_all(fresh.get(), own_description());  // a full disk costs the other run a good message
      file_ = std::move(fresh);
      return;
    }
    if (errno != EEXIST) throw_system_error(target, "cannot be written", errno);
    const file_descriptor earlier = open_earlier(path_);
    if (!earlier) {
      if (errno == ENOENT) continue;
      throw_system_error(path_, "is in the way and cannot be opened", errno);
    }
    if (try_lock(earlier.get()) == attempt::held) {
      holder = description_in(earlier.get());
      std::this_thread::sleep_for(pause);  // it may just be ending
      continue;
    }
    // Its run was killed.
    if (is_still_there(path_, earlier.get()) && ::unlink(path_.c_str()) != 0 && errno != ENOENT) {
      throw_system_error(path_, "was left by a run that is gone and cannot be removed", errno);
    }
  }
  refuse_file(target,
              "another prumo writes to this file: " + (holder.empty() ? "its lock changes all the time" : holder) +
                  "; wait for its end, or name another file");
}

file_lock::~file_lock() { release(); }

file_lock& file_lock::operator=(file_lock&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::move(other.path_);
    file_ = std::move(other.file_);
  }
  return *this;
}

void file_lock::release() noexcept {
  if (file_ && is_still_there(path_, file_.get())) ::unlink(path_.c_str());
  file_.close();
}

}  // namespace prumo::bench
