// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The operations of nets' layers: convolution, pooling, dense. Images are [images x channels x height x width].

#include "operations.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::peers {

void add_layer_operations(std::vector<operation>& all);

/// The member that an axis or parameter of any layer names.
std::int64_t layer_extents::* layer_member(std::string_view name);

std::vector<protocol::named_number> layer_axes(const operation& what);
std::vector<array_extent> layer_arrays(const operation& what, const layer_extents& it, dtype type);
protocol::cost_model layer_model(const operation& what, const layer_extents& it, dtype type);
/// The elements of all arrays, where their number may be beyond that of integers.
double layer_elements(const operation& what, const layer_extents& it);
/// As many images as the size of the array that tells it allows, and one at least.
void fit_images(const operation& what, layer_extents& it, std::int64_t elements);
/// Throws request_error (usage) for parameters that no layer has.
void require_layer(const operation& what, const layer_extents& it);

/// Why there are no such images, filters or windows; empty where there are. Cases of prumo refuse the same.
std::string why_invalid_layer(const operation& what, const layer_extents& it);

/// The places of windows, or of a filter, along one side of an image.
struct window_side {
  std::int64_t extent;  ///< of the image
  std::int64_t window;
  std::int64_t stride;
  std::int64_t padding;  ///< at each end
  std::int64_t places;

  /// Rows or columns that the last window needs beyond the end of the image. It is negative where the windows do not
  /// reach the last elements.
  std::int64_t padding_behind() const { return (places - 1) * stride + window - extent - padding; }
};

struct window_sides {
  window_side rows, columns;
};

/// The places of a convolution's filters.
window_sides filter_sides(const layer_extents& it);
/// The windows after a convolution.
window_sides following_sides(const layer_extents& it);
/// The windows of pooling.
window_sides pooling_sides(const layer_extents& it);
/// The places of y.
window_sides result_sides(const operation& what, const layer_extents& it);

}  // namespace prumo::peers
