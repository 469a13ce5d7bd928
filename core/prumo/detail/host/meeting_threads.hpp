// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Kernels whose threads wait for each other on a host, so that one launch takes many steps.

#include <string>

namespace prumo::detail {

/// A kernel whose threads wait for each other. Only `run` knows its type.
struct meeting_threads {
  /// Does the work of thread number `thread`. All `threads` threads run at the same time.
  void (*run)(const void* kernel, int thread, int threads);
  const void* kernel;  ///< lives until the launch returns
};

/// How many threads of an instance can wait for each other in a kernel. 0: those of its space cannot. Defined for the
/// spaces of PRUMO_FOR_EACH_SPACE that are a host's, as is the next one.
template <class Exec>
int most_meeting_threads(const Exec& instance);

/// Runs a kernel on this number of the instance's threads, or on fewer, because OpenMP may give fewer than it is asked
/// for. The result must therefore not depend on the number of threads.
template <class Exec>
void launch_meeting_threads(const Exec& instance, const std::string& label, int threads, const meeting_threads& kernel);

/// Waits until all threads of the kernel are here, and sees what they wrote. A thread that is alone must not call this:
/// the barrier would be that of a parallel region of the caller's.
void meet_threads();

}  // namespace prumo::detail
