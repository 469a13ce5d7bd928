// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What surrounds a measurement and is not the work itself: how the worker was built, and its environment.

#include <prumo/protocol/messages.hpp>

#include <string>
#include <vector>

namespace prumo::protocol {

/// The version of prumo that this was built from.
std::string prumo_version();

/// Build type and the flags that all kernels are compiled with.
json build_description();

/// `GCC 16.2.0`
std::string compiler_version();

/// Environment variables that are set and change what libraries of threads, mathematics or devices do.
json environment_that_matters();

/// What makes this build slow or its threads wander, a sentence each with the remedy. `binds_threads`: the worker runs
/// OpenMP threads, so that OMP_PROC_BIND matters.
std::vector<std::string> surrounding_warnings(bool binds_threads);

}  // namespace prumo::protocol
