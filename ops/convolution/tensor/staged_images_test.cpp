// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "staged_images.hpp"

#include "tensor_elements.hpp"
#include "tensor_search.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace prumo::backend {
namespace {

template <class T>
class staged_images_of : public ::testing::Test {};
using tensor_types = ::testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(staged_images_of, tensor_types);

/// Images with gaps between columns, rows, channels and images.
template <class T>
struct image_batch {
  convolution_problem<T> problem;
  std::vector<T> elements;

  image_batch(std::int64_t images, std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t gap) {
    problem.images = images;
    problem.in_channels = channels;
    problem.height = height;
    problem.width = width;
    const std::int64_t step = gap > 0 ? 2 : 1, row = width * step + gap, plane = height * row + gap;
    elements.resize(static_cast<std::size_t>(images * (channels * plane + gap)));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = T(static_cast<float>(i % 200 + 1));
    problem.x = {elements.data(), channels * plane + gap, plane, row, step};
  }

  /// The element at a place that may lie beside its image.
  float at(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t column) const {
    if (row < 0 || column < 0 || row >= problem.height || column >= problem.width) return 0.0f;
    return static_cast<float>(
        problem.x.plane(image, channel)[row * problem.x.row_stride + column * problem.x.column_stride]);
  }
};

TYPED_TEST(staged_images_of, brings_each_element_of_an_item_and_zeros_beside_it) {
  using T = TypeParam;
  constexpr int threads = 64, elements_of_word = 4 / static_cast<int>(sizeof(T));
  std::mt19937 random(20261128);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  for (int which = 0; which < 200; ++which) {
    const int images = draw(1, 4), channels = draw(1, 3), height = draw(1, 9), gap = draw(0, 2);
    const int width = gap == 0 ? draw(1, 5) * elements_of_word : draw(1, 11);
    image_batch<T> batch(images, channels, height, width, gap);
    auto& problem = batch.problem;
    const int padding = draw(0, 1) * draw(0, 2);
    problem.row_padding = problem.column_padding = padding;
    problem.row_stride = draw(1, 2);
    const int pack_bytes = bytes_of_packs(problem);
    EXPECT_TRUE(pack_bytes == 0 || (gap == 0 && padding == 0));

    const int first_image = draw(0, images - 1);
    const int first_row = pack_bytes > 0 ? 0 : draw(0, 2), plane_rows = pack_bytes > 0 ? height : draw(1, 12);
    const tensor_item item{first_image, draw(1, images - first_image), first_row};
    const int pitch = (width + 2 * padding + elements_of_word - 1) / elements_of_word;
    std::vector<T> staged(static_cast<std::size_t>(item.images * channels * plane_rows * pitch * elements_of_word),
                          T(-1.0f));
    const staged_images<T> bring(problem, pitch, plane_rows);
    for (int thread = 0; thread < threads; ++thread) {
      bring.template bring<threads>(problem, item, pack_bytes, pitch, plane_rows, staged.data(), thread);
    }
    std::size_t place = 0;
    for (int image = 0; image < item.images; ++image) {
      for (int channel = 0; channel < channels; ++channel) {
        for (int row = 0; row < plane_rows; ++row) {
          for (int column = 0; column < pitch * elements_of_word; ++column, ++place) {
            const std::int64_t of_image = first_row * problem.row_stride - padding + row;
            ASSERT_EQ(static_cast<float>(staged[place]),
                      batch.at(first_image + image, channel, of_image, column - padding))
                << "image " << image << ", channel " << channel << ", row " << row << ", column " << column
                << ", packs of " << pack_bytes << " bytes";
          }
        }
      }
    }
    EXPECT_EQ(bring.plane_of(plane_rows * channels - 1), channels - 1);
  }
}

TYPED_TEST(staged_images_of, tells_elements_that_are_not_finite) {
  using T = TypeParam;
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto is_unusual = [](float low, float high) {
    unusual_elements<T> unusual;
    if constexpr (sizeof(T) == 4) {
      unusual.look_at(bits_of_element(T(low)));
      unusual.look_at(bits_of_element(T(high)));
    } else {
      unusual.look_at(bits_of_element(T(low)) | bits_of_element(T(high)) << 16);
    }
    return unusual.are_there();
  };
  for (const float usual : {0.0f, -0.0f, 1.0f, -65504.0f, 6e-8f}) {
    EXPECT_FALSE(is_unusual(usual, usual)) << usual;
    for (const float unusual : {infinity, -infinity, nan, -nan}) {
      EXPECT_TRUE(is_unusual(usual, unusual)) << usual << " and " << unusual;
      EXPECT_TRUE(is_unusual(unusual, usual)) << unusual << " and " << usual;
    }
  }
}

TYPED_TEST(staged_images_of, adds_the_products_of_a_filter) {
  using T = TypeParam;
  constexpr int channels = 2, rows = 3, columns = 2, pitch = 5, plane = 20, place = 6;
  convolution_problem<T> problem;
  problem.in_channels = channels;
  problem.filter_rows = rows;
  problem.filter_columns = columns;
  std::vector<T> weights(2 * channels * rows * columns), elements(channels * plane + place);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = T(static_cast<float>(i % 7) - 3.0f);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = T(static_cast<float>(i % 5) - 2.0f);
  problem.w = {weights.data(), channels * rows * columns, rows * columns, columns, 1};
  float expected = 4.0f;
  for (int c = 0; c < channels; ++c) {
    for (int p = 0; p < rows; ++p) {
      for (int q = 0; q < columns; ++q) {
        const auto weight = weights[static_cast<std::size_t>(((channels + c) * rows + p) * columns + q)];
        const auto element = elements[static_cast<std::size_t>(place + c * plane + p * pitch + q)];
        expected += static_cast<float>(weight) * static_cast<float>(element);
      }
    }
  }
  EXPECT_EQ(add_filter_products(problem, elements.data() + place, plane, pitch, 1, 4.0f), expected);
}

}  // namespace
}  // namespace prumo::backend
