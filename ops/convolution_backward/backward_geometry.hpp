// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The extents of a convolution, and which of its elements meet.

#include "pooling_problem.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::backend {

/// y = w * x. The extents of x are height and width, those of y are rows and columns.
struct convolution_geometry {
  std::int64_t images = 0;
  std::int64_t in_channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t out_channels = 0;
  std::int64_t filter_rows = 1;
  std::int64_t filter_columns = 1;
  std::int64_t row_stride = 1;
  std::int64_t column_stride = 1;
  std::int64_t row_padding = 0;
  std::int64_t column_padding = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  bool operator==(const convolution_geometry&) const = default;

  /// The weights of one output channel.
  KOKKOS_FUNCTION constexpr std::int64_t taps() const { return in_channels * filter_rows * filter_columns; }

  /// The rows of y that row `row` of x takes part in. Row i of them meets it with row `row` + padding - i stride of the
  /// filter.
  KOKKOS_FUNCTION prumo::detail::window_range rows_of_element(std::int64_t row) const {
    return places_of_element(row + row_padding, filter_rows, row_stride, rows);
  }
  KOKKOS_FUNCTION prumo::detail::window_range columns_of_element(std::int64_t column) const {
    return places_of_element(column + column_padding, filter_columns, column_stride, columns);
  }

  /// The rows of y where row `tap` of the filter lies inside the image.
  KOKKOS_FUNCTION prumo::detail::window_range rows_of_tap(std::int64_t tap) const {
    return places_of_tap(row_padding - tap, height, row_stride, rows);
  }
  KOKKOS_FUNCTION prumo::detail::window_range columns_of_tap(std::int64_t tap) const {
    return places_of_tap(column_padding - tap, width, column_stride, columns);
  }

 private:
  KOKKOS_FUNCTION static prumo::detail::window_range places_of_element(std::int64_t at, std::int64_t filter,
                                                                       std::int64_t stride, std::int64_t extent) {
    const std::int64_t first = at - filter + 1, end = at / stride + 1;
    return {first > 0 ? (first + stride - 1) / stride : 0, end < extent ? end : extent};
  }
  KOKKOS_FUNCTION static prumo::detail::window_range places_of_tap(std::int64_t lacking, std::int64_t length,
                                                                   std::int64_t stride, std::int64_t extent) {
    const std::int64_t last = length - 1 + lacking;
    const std::int64_t end = last < 0 ? 0 : last / stride + 1;
    return {lacking > 0 ? (lacking + stride - 1) / stride : 0, end < extent ? end : extent};
  }
};

/// How the places of all images are shared out among partial sums. It follows from the extents alone, so that sums have
/// the same bits for any number of threads. A group has whole images, or a band of rows of one image.
struct place_groups {
  std::int64_t image_groups = 0;
  std::int64_t bands = 1;  ///< of an image; more than one only if each group of images is one image

  /// About `wanted` groups.
  static place_groups of(const convolution_geometry& geometry, std::int64_t wanted) {
    const std::int64_t images = geometry.images;
    if (images == 0 || images >= wanted) return {std::min(images, wanted), 1};
    return {images, std::min(geometry.rows, (wanted + images - 1) / images)};
  }

  KOKKOS_FUNCTION std::int64_t count() const { return image_groups * bands; }
  std::int64_t most_images(const convolution_geometry& geometry) const {
    return image_groups == 0 ? 0 : (geometry.images + image_groups - 1) / image_groups;
  }
  std::int64_t most_rows(const convolution_geometry& geometry) const { return (geometry.rows + bands - 1) / bands; }

  KOKKOS_FUNCTION prumo::detail::window_range images(const convolution_geometry& geometry, std::int64_t group) const {
    const std::int64_t which = group / bands;
    return {share_begin(geometry.images, image_groups, which), share_begin(geometry.images, image_groups, which + 1)};
  }
  KOKKOS_FUNCTION prumo::detail::window_range rows(const convolution_geometry& geometry, std::int64_t group) const {
    const std::int64_t which = group % bands;
    return {share_begin(geometry.rows, bands, which), share_begin(geometry.rows, bands, which + 1)};
  }

 private:
  /// Shares differ by one at most. No product of the extents appears, which could be too large.
  KOKKOS_FUNCTION static std::int64_t share_begin(std::int64_t extent, std::int64_t shares, std::int64_t which) {
    const std::int64_t rest = extent % shares;
    return extent / shares * which + (which < rest ? which : rest);
  }
};

}  // namespace prumo::backend
