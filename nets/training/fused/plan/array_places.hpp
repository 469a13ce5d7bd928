// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The places of the arrays between the layers in an image's scratch memory.

#include "net_share.hpp"
#include "step_table.hpp"
#include <prumo/detail/rounding.hpp>

#include <cstdint>

namespace prumo::nets {

using prumo::detail::round_up;

/// Rounded up to whole packs of four elements.
constexpr std::int64_t padded(std::int64_t elements) { return round_up(elements, 4); }

/// Whether there are tiles for the filters of a convolution, and kernels with vectors on hosts. Others are taken tap by
/// tap.
constexpr bool has_tiles(std::int64_t filter_height, std::int64_t filter_width, std::int64_t row_stride,
                         std::int64_t column_stride) {
  return filter_height == filter_width && (filter_height == 3 || filter_height == 5) && row_stride == 1 &&
         column_stride == 1;
}

/// Chooses the layers that take tiles or windows, and gives each array its place. The table has the layers' shapes.
/// \param share null if the team has the whole net
/// \return the elements of an image
std::int64_t place_arrays(const step_request& request, step_table& table, net_share* share);

}  // namespace prumo::nets
