// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The choice of a layout for the convolution in matrix units.

#include "convolution_problem.hpp"

#include <cstdint>

namespace prumo::backend {

/// What a device has for the teams of the convolution in matrix units.
struct tensor_resources {
  int multiprocessors = 1;
  std::int64_t bytes_of_team = 0;
  std::int64_t bytes_of_multiprocessor = 0;
};

/// The layout that is expected to take the least time; one without images if none fits into a team's memory.
template <class T>
tensor_layout best_tensor_layout(const convolution_problem<T>& problem, const tensor_resources& resources);

}  // namespace prumo::backend
