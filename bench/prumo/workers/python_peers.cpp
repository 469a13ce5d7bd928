// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/python_peers.hpp"

#include "terminal/program_error.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <grp.h>
#include <pwd.h>
#include <ranges>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// An absolute path in a variable of the environment, or an empty path.
fs::path absolute_path_in(const char* name) {
  const fs::path path = variable(name);
  return path.is_absolute() ? path : fs::path();
}

/// As the XDG base directory specification says; empty if the user has no home folder.
fs::path cache_of_the_user() {
  if (const fs::path cache = absolute_path_in("XDG_CACHE_HOME"); !cache.empty()) return cache;
  if (const fs::path home = absolute_path_in("HOME"); !home.empty()) return home / ".cache";
  const passwd* const user = ::getpwuid(::geteuid());
  if (user == nullptr || user->pw_dir == nullptr || *user->pw_dir != '/') return {};
  return fs::path(user->pw_dir) / ".cache";
}

/// Whether the file's group is the private group of this user, of the same name. Many systems make such groups, and let
/// them write to all new files.
bool has_private_group(const struct stat& file) {
  const passwd* const user = ::getpwuid(::geteuid());
  const group* const its = ::getgrgid(file.st_gid);
  return user != nullptr && its != nullptr && std::string_view(user->pw_name) == its->gr_name;
}

/// Refuses a path that belongs to a user other than root, or to which others may write.
void refuse_foreign(const fs::path& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return;
  const bool is_ours = file.st_uid == ::geteuid() || file.st_uid == 0;
  const bool is_open = (file.st_mode & S_IWOTH) != 0 || ((file.st_mode & S_IWGRP) != 0 && !has_private_group(file));
  if (is_ours && !is_open) return;
  throw program_error(
      exit_code::machine_cannot,
      fmt::format(
          "another user could have changed {} ({}), so its Python is not run. Remove it, or name the Python for "
          "peers with PRUMO_PYTHON",
          path.string(), is_ours ? "others may write to it" : "it belongs to another user"));
}

std::string interpreter_of(const fs::path& environment) {
  const fs::path python = environment / "bin" / "python3";
  return !environment.empty() && ::access(python.c_str(), X_OK) == 0 ? python.string() : std::string();
}

}  // namespace

std::map<std::string, fs::path> find_python_peers(const std::vector<std::string>& folders) {
  std::map<std::string, fs::path> found;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    const fs::path python = fs::absolute(fs::path(folder) / "python", ignored);
    for (const auto& entry : fs::directory_iterator(python / "prumo_peers", ignored)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".py" && !file.stem().string().starts_with("_"))
        found.emplace(file.stem().string(), python);
    }
  }
  return found;
}

std::vector<std::string> python_peer_command(const std::string& interpreter, const fs::path& folder,
                                             const std::string& peer) {
  // Not `-m prumo_peers.NAME`, because Python then searches the current folder before its own modules.
  return {interpreter, folder.lexically_normal().string(), peer};
}

std::string peer_interpreter() {
  if (std::string chosen = variable("PRUMO_PYTHON"); !chosen.empty()) return chosen;
  if (std::string active = interpreter_of(absolute_path_in("VIRTUAL_ENV")); !active.empty()) return active;
  const fs::path cache = cache_of_the_user();
  const fs::path own = cache / "prumo" / "python";
  std::string python = cache.empty() ? std::string() : interpreter_of(own);
  if (python.empty()) return "python3";
  for (const fs::path& place : {cache / "prumo", own, own / "bin", fs::path(python)}) refuse_foreign(place);
  return python;
}

std::string python_path_for_workers(const std::vector<std::string>& folders, const std::string& before) {
  std::string path;
  const auto append = [&](std::string_view entry) { path.append(path.empty() ? "" : ":").append(entry); };
  for (const std::string& folder : folders) {
    std::error_code ignored;
    const fs::path python = fs::absolute(fs::path(folder) / "python", ignored);
    if (fs::is_directory(python, ignored)) append(python.string());
  }
  for (const auto part : std::views::split(before, ':')) {
    const std::string_view entry(part.begin(), part.end());
    if (entry.starts_with('/')) append(entry);
  }
  return path;
}

}  // namespace prumo::bench
