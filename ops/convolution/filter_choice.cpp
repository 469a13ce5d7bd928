// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "filter_choice.hpp"

#include <prumo/convolution.hpp>

#include <algorithm>

namespace prumo::cases {
namespace {

std::int64_t length_of(const prumo::detail::window_range& range) { return std::max<std::int64_t>(0, range.length()); }

}  // namespace

filter_choice::filter_choice(const shape& extents, const parameters& values) {
  images = extents.at("images");
  in_channels = extents.at("in_channels");
  height = extents.at("height");
  width = extents.at("width");
  out_channels = extents.at("out_channels");
  filter_rows = extents.at("filter_rows");
  filter_columns = extents.at("filter_columns");
  row_stride = column_stride = static_cast<std::int64_t>(values.at("stride"));
  row_padding = column_padding = static_cast<std::int64_t>(values.at("padding"));
  has_bias = values.contains("bias") && values.at("bias") != 0;
  if (row_stride < 1) return;
  rows = convolved_extent(height, filter_rows, row_stride, row_padding);
  columns = convolved_extent(width, filter_columns, column_stride, column_padding);
}

std::string filter_choice::why_invalid() const {
  if (row_stride < 1) return "the stride is less than 1";
  if (filter_rows < 1 || filter_columns < 1) return "the filter is empty";
  if (row_padding < 0 || row_padding >= filter_rows || row_padding >= filter_columns) {
    return "the padding is not smaller than the filter";
  }
  return height < 1 || width < 1 || rows < 1 || columns < 1 ? "the image is smaller than the filter" : "";
}

std::uint64_t filter_choice::meetings() const {
  std::int64_t of_rows = 0, of_columns = 0;
  for (std::int64_t p = 0; p < filter_rows; ++p) of_rows += length_of(rows_of_tap(p));
  for (std::int64_t q = 0; q < filter_columns; ++q) of_columns += length_of(columns_of_tap(q));
  return static_cast<std::uint64_t>(of_rows * of_columns);
}

}  // namespace prumo::cases
