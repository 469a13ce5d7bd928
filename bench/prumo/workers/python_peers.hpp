// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace prumo::bench {

/// The peers in Python by name, each with the folder in which it is the module `prumo_peers.NAME`. These are the
/// folders `python/` of `folders`; the first that has a name wins.
[[nodiscard]] std::map<std::string, std::filesystem::path> find_python_peers(const std::vector<std::string>& folders);

/// The command that starts a peer of `find_python_peers()`. Python searches `folder` first, and never the current
/// folder.
[[nodiscard]] std::vector<std::string> python_peer_command(const std::string& interpreter,
                                                           const std::filesystem::path& folder,
                                                           const std::string& peer);

/// The Python for peers: $PRUMO_PYTHON, or that of the active virtual environment, or that of prumo's environment in
/// the user's cache, or else `python3`. Relative paths in VIRTUAL_ENV, XDG_CACHE_HOME and HOME are ignored. Without
/// HOME, the cache is in the home folder that the user database names.
/// \throws program_error (this machine cannot) if other users could have put a program into the environment in the
/// cache
[[nodiscard]] std::string peer_interpreter();

/// `PYTHONPATH` for workers: the folders `python/` of `folders`, then the absolute paths of `before`. Empty and
/// relative entries of `before` are left out, because they mean the current folder, or another one wherever the program
/// is started.
[[nodiscard]] std::string python_path_for_workers(const std::vector<std::string>& folders, const std::string& before);

}  // namespace prumo::bench
