// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The number of threads that the environment chooses, as front-end and workers read it. OpenMP takes all processors
/// where the number is nonsense, Kokkos ends the program, and both do so where there are too many threads.

#include <array>
#include <string>
#include <string_view>

namespace prumo::protocol {

/// Kokkos keeps what it knows of OpenMP's threads in an array of this size, and writes beyond it if there are more.
inline constexpr int most_threads = 512;

/// The variables of the environment that choose the number of threads of prumo's own workers.
inline constexpr std::array<const char*, 2> thread_variables{"OMP_NUM_THREADS", "KOKKOS_NUM_THREADS"};

/// Says why a value of one of these variables is not a number of threads, and what to do. Empty if it is one.
/// `OMP_NUM_THREADS` may have a number for each level of nesting, `4,2`, or none.
std::string why_no_threads(std::string_view variable, std::string_view value);

/// The same for the environment of this process.
std::string why_no_threads();

}  // namespace prumo::protocol
