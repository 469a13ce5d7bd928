// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/nets/description.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::nets {

/// An array of weights, as it is called in a file of weights.
struct parameter {
  std::string name;                   ///< `conv1.weight`, `dense2.bias`
  std::vector<std::int64_t> extents;  ///< convolution [out, in, fh, fw], shared [fh, fw], dense [out, in], bias [out]

  [[nodiscard]] std::int64_t size() const;
  bool operator==(const parameter&) const = default;
};

/// What follows from a layer and its place in the net, for one image.
struct layer_facts {
  std::string name;  ///< `conv1`, `pool2`, `dense1`, `softmax`: the kind, numbered from 1
  image_shape input;
  image_shape output;
  std::vector<parameter> parameters;

  /// Two for each product of a weight and an input, as published tables count: padding is counted like pixels.
  std::int64_t flops = 0;
  /// The same without the products with padding.
  std::int64_t flops_inside = 0;
};

/// What follows from a description.
struct net_facts {
  std::vector<layer_facts> layers;
  std::int64_t parameters = 0;    ///< numbers in all arrays of weights
  std::int64_t flops = 0;         ///< of one image, padding included
  std::int64_t flops_inside = 0;  ///< of one image
  std::int64_t classes = 0;       ///< features of the last layer

  /// The arrays of weights of all layers, in order.
  [[nodiscard]] std::vector<parameter> all_parameters() const;
};

/// Extents that are larger, and nets with more layers, weights or flops, are refused: their products would not fit.
inline constexpr std::int64_t largest_extent = std::int64_t{1} << 20U;
inline constexpr std::size_t most_layers = 1000;
inline constexpr std::int64_t largest_count = std::int64_t{1} << 50U;

/// Follows an image through the net.
/// \throws description_error for a layer that does not fit what comes before it
[[nodiscard]] net_facts facts_of(const description& net);

}  // namespace prumo::nets
