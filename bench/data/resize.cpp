// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/resize.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace prumo::data {
namespace {

/// How much of an old pixel a new one takes, along one axis.
struct share {
  std::int64_t from;
  std::uint64_t weight;
};

/// The shares of every new pixel. Their weights sum up to `total`.
struct axis {
  std::vector<std::vector<share>> shares;
  std::uint64_t total;
};

/// An axis of `to` pixels over one of `from`: in units in which an old pixel is `to` long, a new one is `from` long.
axis area_axis(std::int64_t from, std::int64_t to) {
  axis result{{}, static_cast<std::uint64_t>(from)};
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from;
    const std::int64_t end = begin + from;
    auto& shares = result.shares.emplace_back();
    for (std::int64_t old = begin / to; old * to < end; ++old) {
      const std::int64_t covered = std::min(end, (old + 1) * to) - std::max(begin, old * to);
      shares.push_back({old, static_cast<std::uint64_t>(covered)});
    }
  }
  return result;
}

/// The centre of a new pixel lies between two old centres: at (2 i + 1) from / (2 to) - 1/2, in old pixels.
axis bilinear_axis(std::int64_t from, std::int64_t to) {
  axis result{{}, static_cast<std::uint64_t>(2 * to)};
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t centre = std::clamp<std::int64_t>((2 * i + 1) * from - to, 0, (from - 1) * 2 * to);
    const std::int64_t old = centre / (2 * to);
    const std::int64_t rest = centre % (2 * to);
    auto& shares = result.shares.emplace_back();
    shares.push_back({old, static_cast<std::uint64_t>(2 * to - rest)});
    if (rest > 0) shares.push_back({old + 1, static_cast<std::uint64_t>(rest)});
  }
  return result;
}

}  // namespace

image_set resized(const image_set& images, std::int64_t height, std::int64_t width, resizing how) {
  constexpr std::int64_t largest_side = 65535;
  for (const std::int64_t side : {height, width}) {
    if (side < 1 || side > largest_side) {
      throw std::invalid_argument("prumo::data::resized: images have 1 to 65535 rows and columns, not " +
                                  std::to_string(side));
    }
  }
  const auto make = how == resizing::area ? area_axis : bilinear_axis;
  const axis rows = make(images.height, height);
  const axis columns = make(images.width, width);
  image_set result;
  result.count = images.count;
  result.channels = images.channels;
  result.height = height;
  result.width = width;
  result.format = images.format;
  result.pixels.reserve(static_cast<std::size_t>(result.count * result.bytes_per_image()));
  // At most 255 times 65535^2 times 4: the sums fit.
  const std::uint64_t total = rows.total * columns.total;
  const std::int64_t planes = images.count * images.channels;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const std::uint8_t* old = images.pixels.data() + plane * images.height * images.width;
    for (const auto& row : rows.shares) {
      for (const auto& column : columns.shares) {
        std::uint64_t sum = total / 2;
        for (const share& y : row) {
          const std::uint8_t* line = old + y.from * images.width;
          std::uint64_t along = 0;
          for (const share& x : column) along += line[x.from] * x.weight;
          sum += along * y.weight;
        }
        result.pixels.push_back(static_cast<std::uint8_t>(sum / total));
      }
    }
  }
  return result;
}

}  // namespace prumo::data
