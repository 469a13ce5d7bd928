// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/detail/layer_arrays.hpp>
#include <prumo/nets/split_plan.hpp>

#include <algorithm>
#include <utility>

namespace prumo::nets {
namespace {

/// The place of the first layer that takes rows.
std::size_t first_dense(const description& net) {
  return static_cast<std::size_t>(std::ranges::find_if(net.layers, layer_arrays::is_flat) - net.layers.begin());
}

/// Layers [first, last) of a net.
description part_of(const forward_plan& whole, std::size_t first, std::size_t last) {
  description part = whole.net();
  part.layers.assign(whole.net().layers.begin() + static_cast<std::ptrdiff_t>(first),
                     whole.net().layers.begin() + static_cast<std::ptrdiff_t>(last));
  if (first > 0) part.input = whole.facts().layers[first - 1].output;
  return part;
}

forward_plan before_dense_of(const forward_plan& whole) {
  const std::size_t split = first_dense(whole.net());
  return split == 0 ? whole : forward_plan(part_of(whole, 0, split), whole.type());
}

}  // namespace

split_plan::split_plan(const forward_plan& whole) : before_dense(before_dense_of(whole)) {
  const std::size_t split = first_dense(whole.net()), layers = whole.net().layers.size();
  if (split == 0 || split == layers) return;
  from_dense.emplace(part_of(whole, split, layers), whole.type());
}

std::int64_t split_plan::images_together(const image_chunks& chunks, std::int64_t most_images) const {
  constexpr std::int64_t most_feature_bytes = std::int64_t{1} << 28U;
  const std::int64_t features_of_image = std::max<std::int64_t>(1, features());
  const std::int64_t most =
      most_feature_bytes / static_cast<std::int64_t>(dtype_size(before_dense.type())) / features_of_image;
  return std::min(most_images, std::max(chunks.largest(), most));
}

array_ref split_plan::weights_from_dense(const array_ref& weights) const {
  return layer_arrays::array_at(weights, before_dense.weights_elements(), {from_dense->weights_elements()});
}

}  // namespace prumo::nets
