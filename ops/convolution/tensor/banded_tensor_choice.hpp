// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The choice of a layout for the convolution of bands in matrix units.

#include "convolution_problem.hpp"
#include "team_resources.hpp"

namespace prumo::backend {

/// The layout that is expected to take the least time; one without images if none fits into a team's memory.
template <class T>
banded_tensor_layout best_banded_tensor_layout(const convolution_problem<T>& problem, const team_resources& resources);

}  // namespace prumo::backend
