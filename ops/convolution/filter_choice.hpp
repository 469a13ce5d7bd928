// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the cases of a convolution and its gradients choose.

#include "convolution_geometry.hpp"
#include <prumo/case/specification.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::cases {

/// Images and filters of a choice.
struct filter_choice : backend::convolution_geometry {
  bool has_bias = false;

  filter_choice(const shape& extents, const parameters& values);

  /// Why the operations refuse it, or an empty string.
  std::string why_invalid() const;
  /// The part that problems have, too.
  const backend::convolution_geometry& geometry() const { return *this; }
  /// The pairs of a place and a weight of one filter plane that meet, in one image.
  std::uint64_t meetings() const;

  std::vector<std::int64_t> x_extents() const { return {images, in_channels, height, width}; }
  std::vector<std::int64_t> w_extents() const { return {out_channels, in_channels, filter_rows, filter_columns}; }
};

}  // namespace prumo::cases
