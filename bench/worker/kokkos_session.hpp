// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace prumo::worker {

/// Kokkos between initialisation and finalisation. Its own warnings are off, because `hello` has them.
class kokkos_session {
 public:
  /// Takes Kokkos' own arguments (`--kokkos-num-threads=4`). Throws if the device cannot be used, or if the environment
  /// chooses a number of threads with which Kokkos would end the program.
  kokkos_session(int& argc, char** argv);
  ~kokkos_session();
  kokkos_session(const kokkos_session&) = delete;
  kokkos_session& operator=(const kokkos_session&) = delete;
};

/// `5.2.2`
std::string kokkos_version();

/// Warnings about what disturbs measurements: a loaded Kokkos tool, or a Kokkos that checks bounds.
std::vector<std::string> kokkos_warnings();

}  // namespace prumo::worker
