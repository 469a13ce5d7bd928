// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/array_ref.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/image_chunks.hpp>

#include <cstdint>
#include <optional>

namespace prumo::nets {

/// A net in two parts: the layers before its first dense layer, which take images, and the layers from there on, which
/// take rows of numbers. Both together compute what the whole net computes, and one may take fewer images at a time.
struct split_plan {
  /// \param whole a net; if it begins with a dense layer, or has none, it is not split
  explicit split_plan(const forward_plan& whole);

  /// The numbers of an image between both parts; 0 if the net is not split.
  std::int64_t features() const { return from_dense ? from_dense->net().input.size() : 0; }

  /// The images that the second part takes together, if the first part takes them in chunks that are copied to a
  /// device: all of a batch, if their features take no more than 256 MiB.
  std::int64_t images_together(const image_chunks& chunks, std::int64_t most_images) const;

  /// The weights of the second part. \param weights those of the whole net
  array_ref weights_from_dense(const array_ref& weights) const;

  forward_plan before_dense;               ///< the layers before the first dense layer, or all layers
  std::optional<forward_plan> from_dense;  ///< the others; absent if the net is not split
};

}  // namespace prumo::nets
