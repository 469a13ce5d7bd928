// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_client.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// What the devices and workers of another build are called by behind their own names: `openmp:0@against`.
inline constexpr std::string_view other_build_suffix = "@against";

/// Where workers come from.
struct worker_options {
  std::vector<std::string> named;  ///< `NAME=COMMAND`, each a worker of its own, or the NAME of a peer in Python
  std::vector<std::string> peers;  ///< peers to measure: names, their devices (`torch-cuda:0`), or `all`
  bool search = true;              ///< look for installed workers too
  std::string launcher;            ///< command in front of every worker's: `ssh node7`
  std::vector<std::string> wanted_devices;  ///< filters; one that names a peer's device has the peer started
  std::vector<std::string> folders;         ///< where to look, first match of a name wins
  std::string against;                      ///< another build, see find_other_build(); empty: none
};

/// The folders that are searched: the program's own, ../libexec/prumo beside it, then PRUMO_WORKER_PATH.
[[nodiscard]] std::vector<std::string> worker_folders();

/// This program's file, as well as the system tells; empty if unknown.
[[nodiscard]] std::filesystem::path program_path();

/// Splits a command as a shell does for words, quotes and backslashes; nothing is expanded.
/// \throws program_error (wrong usage) for a quote that is not closed
[[nodiscard]] std::vector<std::string> split_command(std::string_view text);

/// Sets variables of this process and those that it starts: Python finds the peers in `python/` of the folders, and
/// threads of a worker that waits do not spin for long, unless the user has decided how they wait.
void prepare_environment(const std::vector<std::string>& folders);

/// The Python that peers run in: $PRUMO_PYTHON, the active virtual environment's, that of prumo's own environment in
/// the user's cache, else `python3`.
[[nodiscard]] std::string peer_interpreter();

/// Whether a worker or backend of this name is prumo's own; everything else is a peer.
[[nodiscard]] bool is_own_backend(std::string_view name);

/// Whether `filter` speaks of the peer: `torch`, or its devices `torch-cuda`, `torch-cuda:0`.
[[nodiscard]] bool names_peer(std::string_view filter, std::string_view peer);

/// The workers of another build: `path` is a worker program, a folder of `prumo-worker-NAME`, or a build folder or
/// install prefix, whose `bin` or `libexec/prumo` holds them. Their names end in `@against`.
/// \throws program_error (wrong usage) that tells where was looked
[[nodiscard]] std::vector<worker_launch> find_other_build(const std::string& path);

/// The workers to start: executable files `prumo-worker-NAME` of the folders, those named, peers in Python that are
/// asked for, and those of another build.
/// \throws program_error (wrong usage) for an unreadable NAME=COMMAND, a name given twice, or a peer that does not
/// exist
[[nodiscard]] std::vector<worker_launch> discover_workers(const worker_options& options);

}  // namespace prumo::bench
