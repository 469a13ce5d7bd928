// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Where parameters lie in a step: lists that are made before the first step, so that no thread computes such places.

#include "step_table.hpp"

#include <vector>

namespace prumo::nets {

/// A parameter of a filter, which changes by a sum over images.
struct filter_parameter {
  int parameter;  ///< its place in the flat array of parameters
  int copy;       ///< its place among a team's copies
  int turned;     ///< that of its copy for dy to dx; -1: none
  int layer;
  bool is_bias;
};

/// The lists of a net.
struct step_places {
  /// The parameter of each copy (step_table::copies); -1: a gap, which stays 0.
  std::vector<int> copy_sources;
  /// Each gradient that a team sums (step_table::gradients).
  std::vector<filter_parameter> filter_parameters;
};

step_places make_step_places(const step_table& table);

}  // namespace prumo::nets
