// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/nets/description.hpp>
#include <prumo/nets/shapes.hpp>

#include <cstdint>
#include <random>
#include <utility>

namespace prumo::tests {

/// Draws nets that nobody chose: images of one to four channels and any size up to 40, up to three convolutions with
/// any filters, strides and paddings, pooling behind some of them, and dense layers.
class random_nets {
 public:
  explicit random_nets(std::uint32_t seed) : generator_(seed) {}

  /// A number from least to most.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(generator_() % static_cast<std::uint32_t>(most - least + 1));
  }

  nets::description next() {
    nets::description net{"random", {between(1, 4), between(9, 40), between(9, 40)}, {}};
    const std::int64_t convolutions = between(1, 3);
    for (std::int64_t i = 0; i < convolutions; ++i) {
      const nets::extent2 filter = extents(1, 7);
      add(net, nets::convolution{
                   .channels = between(1, 20),
                   .filter = filter,
                   .stride = chance(70) ? nets::extent2{1, 1} : extents(1, 3),
                   .padding = chance(60) ? nets::extent2{0, 0}
                                         : nets::extent2{between(0, filter.height - 1), between(0, filter.width - 1)},
                   .bias = chance(60),
                   .activate = static_cast<nets::activation>(between(0, 3))});
      if (!chance(70)) continue;
      const nets::extent2 window = chance(50) ? nets::extent2{2, 2} : extents(1, 4);
      add(net, nets::pooling{.kind = static_cast<nets::pooling_kind>(between(0, 1)),
                             .window = window,
                             .stride = chance(70) ? window : extents(1, 3),
                             .round = static_cast<nets::rounding>(between(0, 1))});
    }
    if (chance(50)) add(net, nets::dense{between(2, 40), chance(50), nets::activation::relu});
    add(net, nets::dense{between(2, 20), chance(50)});
    if (chance(50)) add(net, nets::softmax{});
    return net;
  }

 private:
  bool chance(std::int64_t percent) { return between(1, 100) <= percent; }
  nets::extent2 extents(std::int64_t least, std::int64_t most) {
    const std::int64_t height = between(least, most);
    return {height, between(least, most)};
  }

  /// Adds a layer, unless it does not fit the layers before it.
  static void add(nets::description& net, nets::layer layer) {
    net.layers.push_back(std::move(layer));
    try {
      static_cast<void>(nets::facts_of(net));
    } catch (const nets::description_error&) {
      net.layers.pop_back();
    }
  }

  std::minstd_rand generator_;
};

}  // namespace prumo::tests
