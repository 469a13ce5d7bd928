// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which partial sums the places of a convolution belong to.

#include "convolution_geometry.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::backend {

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

  KOKKOS_FUNCTION window_range images(const convolution_geometry& geometry, std::int64_t group) const {
    const std::int64_t which = group / bands;
    return {share_begin(geometry.images, image_groups, which), share_begin(geometry.images, image_groups, which + 1)};
  }
  KOKKOS_FUNCTION window_range rows(const convolution_geometry& geometry, std::int64_t group) const {
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
