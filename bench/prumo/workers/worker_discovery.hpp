// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workers/worker_client.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The end of the names of devices and workers of another build: `openmp:0@against`.
inline constexpr std::string_view other_build_suffix = "@against";

/// Where workers come from.
struct worker_options {
  std::vector<std::string> named;           ///< `NAME=COMMAND`, or the NAME of a peer in Python
  std::vector<std::string> peers;           ///< peers to measure: names, their devices (`torch-cuda:0`), or `all`
  bool search = true;                       ///< whether to look for installed workers, too
  std::string launcher;                     ///< command in front of every worker's: `ssh node7`
  std::vector<std::string> wanted_devices;  ///< filters; a filter that names a peer's device also starts the peer
  std::vector<std::string> folders;         ///< where to look; the first match of a name wins
  std::string against;                      ///< another build, see find_other_build(); empty: none
};

/// The folders that are searched: the program's own, ../libexec/prumo beside it, then PRUMO_WORKER_PATH.
[[nodiscard]] std::vector<std::string> worker_folders();

/// This program's file; empty if unknown.
[[nodiscard]] std::filesystem::path program_path();

/// Splits the command that an option names into words. Quotes and backslashes work as in a shell, and nothing is
/// expanded.
/// \throws program_error (wrong usage) for a quote that is not closed
[[nodiscard]] std::vector<std::string> split_command(std::string_view option, std::string_view text);

/// Sets environment variables for this process and its children. With them Python finds the peers in `python/` of the
/// folders, and nothing in the current folder. Threads of a waiting worker do not spin for long, and those of OpenMP
/// are bound to cores, unless the user has decided how they wait and where they run.
void prepare_environment(const std::vector<std::string>& folders);

/// Refuses a number of threads in the environment with which workers on this machine cannot start.
/// \param puts_aside whether other numbers are chosen, so that such a variable is taken out of the environment instead
/// \throws program_error (wrong usage)
void check_thread_variables(bool puts_aside);

/// Whether a worker or backend of this name is prumo's own; everything else is a peer.
[[nodiscard]] bool is_own_backend(std::string_view name);

/// Whether `filter` names the peer: `torch`, or its devices `torch-cuda`, `torch-cuda:0`.
[[nodiscard]] bool names_peer(std::string_view filter, std::string_view peer);

/// The workers of another build. `path` is a worker program, a folder with `prumo-worker-NAME`, or a build folder or
/// install prefix that has them in `bin` or `libexec/prumo`. Their names end in `@against`.
/// \throws program_error (wrong usage), which says where it looked
[[nodiscard]] std::vector<worker_launch> find_other_build(const std::string& path);

/// The workers to start: executable files `prumo-worker-NAME` in the folders (prumo's own even if they are not
/// executable), named workers, peers in Python that are asked for, and the workers of another build.
/// \throws program_error (wrong usage) for an unreadable NAME=COMMAND, a name given twice, or a peer that does not
/// exist
[[nodiscard]] std::vector<worker_launch> discover_workers(const worker_options& options);

}  // namespace prumo::bench
