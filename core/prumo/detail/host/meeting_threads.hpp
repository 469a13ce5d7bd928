// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Kernels whose threads wait for each other on a host, so that one launch takes many steps.

#include <string>

namespace prumo::detail {

/// A kernel whose threads wait for each other. Only `run` knows its type.
struct meeting_threads {
  /// Runs what thread `thread` of `threads` has. All of them are under way at once.
  void (*run)(const void* kernel, int thread, int threads);
  const void* kernel;  ///< lives until the launch returns
};

/// How many threads of an instance can wait for each other in a kernel. 0: those of its space cannot. Defined for the
/// spaces of PRUMO_FOR_EACH_SPACE that are a host's, as is the next one.
template <class Exec>
int most_meeting_threads(const Exec& instance);

/// Runs a kernel on so many threads of the instance, or on fewer: OpenMP may give fewer than it is asked for. So the
/// result must not depend on their number.
template <class Exec>
void launch_meeting_threads(const Exec& instance, const std::string& label, int threads, const meeting_threads& kernel);

/// Waits until all threads of the kernel are here, and sees what they wrote. A thread that is alone must not call this:
/// the barrier would be that of a parallel region of the caller's.
void meet_threads();

}  // namespace prumo::detail
