// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Where parameters lie in a step: lists that are made before the first step, so that no thread computes such places.

#include "net_share.hpp"
#include "step_table.hpp"
#include "update_tiles.hpp"

#include <cstdint>
#include <vector>

namespace prumo::nets {

/// A copy of a parameter in a team's scratch memory.
struct alignas(8) parameter_copy {
  int parameter;  ///< its place in the flat array of parameters; -1: a gap, which stays 0
  int place;      ///< among the copies
};

/// A parameter whose gradient teams sum over images: of a filter, and where they take windows any other one, too.
struct filter_parameter {
  int parameter;  ///< its place in the flat array of parameters
  int copy;       ///< its place among a team's copies
  int turned;     ///< the place of the copy from which dx is made; -1: there is none
  int layer;
  bool is_bias;
};

/// The lists of a net.
struct step_places {
  /// All copies (step_table::copies), in the order in which threads make them. Those of teams that take windows are in
  /// the order of their places.
  std::vector<parameter_copy> copies;
  /// Each gradient that a team sums (step_table::gradients).
  std::vector<filter_parameter> filter_parameters;
  /// All tiles of the work that changes the weights.
  std::vector<update_tile> update_tiles;
};

/// \param share of a team of a cluster; null: the team has the whole net
step_places make_step_places(const step_table& table, const net_share* share = nullptr);

/// step_places::update_tiles.
std::vector<update_tile> make_update_tiles(const step_table& table);

/// The slices in which each of `tiles` is summed over images, or over groups of them: a power of two. It follows from
/// the shape of the training alone, so that all devices sum in one order.
int choose_update_slices(int tiles, std::int64_t summed);

}  // namespace prumo::nets
