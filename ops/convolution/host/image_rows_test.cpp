// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of images' rows for the direct convolution of hosts, against one element after the other.

#include "image_rows.hpp"

#include <prumo/types.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace prumo::backend {
namespace {

template <class T>
class image_rows_of : public testing::Test {};
using element_types = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(image_rows_of, element_types);

/// An image whose elements have a distance, with NaN between and behind them.
template <class T>
struct spread_image {
  std::int64_t height, width, distance;
  std::vector<T> memory;

  spread_image(std::int64_t rows, std::int64_t columns, std::int64_t apart)
      : height(rows),
        width(columns),
        distance(apart),
        memory(static_cast<std::size_t>(rows * columns * apart + 1),
               static_cast<T>(std::numeric_limits<float>::quiet_NaN())) {
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      memory[static_cast<std::size_t>(i * apart)] = static_cast<T>(static_cast<float>(i % 251 + 1));
    }
  }

  image_rows<T> rows() const { return {memory.data(), height, width, width * distance, distance}; }
  float at(std::int64_t row, std::int64_t column) const {
    if (row < 0 || row >= height || column < 0 || column >= width) return 0;
    return static_cast<float>((row * width + column) % 251 + 1);
  }
};

template <class T>
void expect_rows(const spread_image<T>& image, std::int64_t step, std::int64_t padding, std::int64_t filter) {
  using C = compute_t<T>;
  const std::int64_t places = (image.width + 2 * padding - filter) / step + 1 + (filter - 1) / step;
  const std::int64_t phases = std::min(step, filter), count = (image.height + 2 * padding + step - 1) / step;
  const std::int64_t distance = count * places, behind = 64;
  std::vector<C> copied(static_cast<std::size_t>(phases * distance + behind), C(-1));
  image.rows().copy(-padding, step, count, column_phases(image.width, padding, step, phases, places), copied.data(),
                    places, distance);
  for (std::int64_t phase = 0; phase < phases; ++phase) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < places; ++j) {
        ASSERT_EQ(static_cast<float>(copied[static_cast<std::size_t>(phase * distance + i * places + j)]),
                  image.at(i * step - padding, j * step + phase - padding))
            << image.height << " x " << image.width << " apart " << image.distance << " step " << step << " padding "
            << padding << " filter " << filter << " phase " << phase << " at " << i << ", " << j;
      }
    }
  }
  for (std::int64_t i = 0; i < behind; ++i) {
    ASSERT_EQ(copied[static_cast<std::size_t>(phases * distance + i)], C(-1)) << "behind the copy";
  }
}

TYPED_TEST(image_rows_of, are_sorted_by_the_remainders_of_columns) {
  for (const std::int64_t width : {1, 2, 5, 7, 9, 16, 17, 31, 33, 64, 67, 131}) {
    for (const std::int64_t distance : {1, 2}) {
      const spread_image<TypeParam> image(5, width, distance);
      for (std::int64_t step = 1; step <= 5; ++step) {
        for (std::int64_t padding = 0; padding <= 2; ++padding) {
          for (const std::int64_t filter : {1, 2, 3, 5}) {
            if (width + 2 * padding < filter || padding >= filter) continue;
            expect_rows(image, step, padding, filter);
            if (this->HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace prumo::backend
