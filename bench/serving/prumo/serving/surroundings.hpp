// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the worker was built, and its environment.

#include <prumo/protocol/messages.hpp>

#include <span>
#include <string>
#include <vector>

namespace prumo::protocol {

/// The version of prumo that this was built from.
std::string prumo_version();

/// The build type, the flags for all kernels, and what tells this build from others (build_identity.hpp).
json build_description();

/// `GCC 16.2.0`
std::string compiler_version();

/// Those of these variables of the environment that are set, with their values.
json environment_variables(std::span<const std::string> names);

/// Warnings about a slow build or threads that move between cores, each a sentence with the remedy. `binds_threads`
/// says that the worker runs OpenMP threads, so that OMP_PROC_BIND matters.
std::vector<std::string> surrounding_warnings(bool binds_threads);

}  // namespace prumo::protocol
