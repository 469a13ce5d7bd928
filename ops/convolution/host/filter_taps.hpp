// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace prumo::backend {

/// The taps of a filter, in the order in which their products are added.
template <class C>
struct filter_taps {
  std::int64_t count;
  const C* weights;             ///< [tap][channel of the tile]
  const std::int64_t* offsets;  ///< from a place of the convolution to the element that a tap multiplies
  std::int64_t columns = 1;     ///< this many taps after each other, a row of the filter, meet neighbouring elements
};

}  // namespace prumo::backend
