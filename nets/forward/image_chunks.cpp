// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/image_chunks.hpp>

#include <algorithm>

namespace prumo::nets {
namespace {

// The copy of a MiB takes 20 to 40 us over PCIe, which is more than the launches of a chunk cost. A GPU with fewer
// images than this has idle multiprocessors.
constexpr std::int64_t least_bytes = std::int64_t{1} << 20U;
constexpr std::int64_t least_images = 256;
constexpr std::int64_t most_bytes = std::int64_t{1} << 26U;

}  // namespace

image_chunks::image_chunks(std::int64_t most_images, std::int64_t bytes_per_image, std::int64_t first)
    : first_(first > 0 ? first
                       : std::max(least_images, (least_bytes - 1) / std::max<std::int64_t>(1, bytes_per_image) + 1)),
      limit_(std::max(first_, most_bytes / std::max<std::int64_t>(1, bytes_per_image))) {
  std::int64_t before = 0, left = most_images;
  while (left > 0 && largest_ < limit_) {
    before = next(before, left);
    left -= before;
    largest_ = std::max(largest_, before);
  }
  // A smaller batch may end with what a larger one would have made a chunk of its own.
  largest_ = std::min(most_images, largest_ + first_ - 1);
}

std::int64_t image_chunks::next(std::int64_t before, std::int64_t left) const {
  std::int64_t wanted = first_;
  if (before > limit_ / 2) {
    wanted = limit_;
  } else if (before > 0) {
    wanted = std::min(limit_, (13 * before + 5 * first_) / 10);
  }
  return left - wanted < first_ ? left : wanted;
}

}  // namespace prumo::nets
