// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case does not reach: every byte, indices of 32 bits and beyond the images, channels last, refusals.

#include "operation_test.hpp"
#include <prumo/arithmetic.hpp>
#include <prumo/cast.hpp>
#include <prumo/gather.hpp>
#include <prumo/images.hpp>
#include <prumo/memory.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace prumo {
namespace {

using namespace tests;
using bytes = Kokkos::View<std::uint8_t****, Kokkos::LayoutRight, exec>;
template <class T>
using images_of = Kokkos::View<T****, Kokkos::LayoutRight, exec>;

/// Images whose bytes follow each other: 0, 1, 2, ...
bytes counting_images(std::size_t count, std::size_t channels, std::size_t height, std::size_t width) {
  const bytes images("images", count, channels, height, width);
  const auto copy = Kokkos::create_mirror_view(images);
  for (std::size_t i = 0; i < images.size(); ++i) copy.data()[i] = static_cast<std::uint8_t>(i % 256);
  Kokkos::deep_copy(images, copy);
  return images;
}

TEST(convert_images, every_byte_becomes_byte_over_255_correctly_rounded) {
  context<exec> ctx;
  const bytes images = counting_images(4, 1, 8, 8);
  const images_of<float> y("y", 4, 1, 8, 8);
  const images_of<double> wide("wide", 4, 1, 8, 8);
  convert_images(ctx, images, y);
  convert_images(ctx, images, wide, {.scale = 1, .shift = -128});
  ctx.fence();
  const auto found = tests::host_copy(y);
  const auto shifted = tests::host_copy(wide);
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(found.data()[byte], static_cast<float>(byte) / 255.0F) << byte;
    EXPECT_EQ(shifted.data()[byte], byte - 128.0) << byte;
  }
}

template <class T>
class convert_images_types : public testing::Test {};
TYPED_TEST_SUITE(convert_images_types, tests::all_scalars);

TYPED_TEST(convert_images_types, an_index_chooses_images_and_what_is_no_image_is_nan) {
  context<exec> ctx;
  const bytes images = counting_images(5, 3, 4, 4);
  const images_of<TypeParam> y("y", 7, 3, 4, 4);
  const auto expect = [&](const auto& index) {
    using number = typename std::remove_cvref_t<decltype(index)>::value_type;
    constexpr number none[] = {-1, 5, std::numeric_limits<number>::max()};
    const auto chosen = tests::set_elements(
        index, [&](std::size_t i) { return i % 2 == 1 ? none[i / 2] : static_cast<number>(4 - i / 2); });
    convert_images(ctx, images, y, {.scale = 1, .index = index});
    ctx.fence();
    const auto found = tests::host_copy(y);
    for (std::size_t i = 0; i < 7; ++i) {
      for (std::size_t k = 0; k < 48; ++k) {
        const auto value = static_cast<float>(found.data()[i * 48 + k]);
        if (i % 2 == 1) {
          EXPECT_TRUE(std::isnan(value));
        } else {
          EXPECT_EQ(value, static_cast<float>((static_cast<std::size_t>(chosen(i)) * 48 + k) % 256));
        }
      }
    }
  };
  expect(Kokkos::View<std::int64_t*, exec>("index", 7));
  expect(Kokkos::View<std::int32_t*, exec>("index", 7));
}

TYPED_TEST(convert_images_types, channels_may_be_last) {
  context<exec> ctx;
  const bytes images = counting_images(3, 3, 5, 6);
  const auto y = tests::channels_last<TypeParam>(3, 3, 5, 6);
  convert_images(ctx, images, y, {.scale = 1});
  ctx.fence();
  const auto found = tests::host_copy(y);
  std::size_t i = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t r = 0; r < 5; ++r) {
        for (std::size_t k = 0; k < 6; ++k)
          EXPECT_EQ(static_cast<float>(found(n, c, r, k)), static_cast<float>(i++ % 256));
      }
    }
  }
}

/// There are no gaps between the images, and their rows are not a multiple of what a device loads at once.
TYPED_TEST(convert_images_types, images_may_have_any_size_and_begin_anywhere) {
  context<exec> ctx;
  const std::size_t shapes[][4] = {{3, 1, 5, 5}, {2, 3, 3, 7}, {4, 1, 6, 6}, {1, 1, 1, 1}, {5, 2, 1, 9}};
  for (const auto& shape : shapes) {
    const bytes all = counting_images(shape[0] + 1, shape[1], shape[2], shape[3]);
    const images_of<TypeParam> all_of_y("y", shape[0] + 1, shape[1], shape[2], shape[3]);
    for (const std::size_t first : {0, 1}) {
      const auto range = Kokkos::make_pair(first, first + shape[0]);
      const auto images = Kokkos::subview(all, range, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL);
      const auto y = Kokkos::subview(all_of_y, range, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL);
      Kokkos::deep_copy(all_of_y, static_cast<TypeParam>(-1.0F));
      convert_images(ctx, images, y, {.scale = 1});
      ctx.fence();
      const auto found = tests::host_copy(all_of_y);
      const std::size_t size = shape[1] * shape[2] * shape[3];
      for (std::size_t i = 0; i < found.span(); ++i) {
        const bool is_inside = i / size >= first && i / size < first + shape[0];
        EXPECT_EQ(static_cast<float>(found.data()[i]), is_inside ? static_cast<float>(i % 256) : -1.0F) << i;
      }
    }
  }
}

TEST(convert_images, refuses_what_does_not_fit) {
  context<exec> ctx;
  const bytes images("my images", 4, 1, 8, 8);
  const images_of<float> y("my y", 3, 1, 8, 8), large("large", 4, 1, 9, 8), colors("colors", 4, 3, 8, 8);
  const Kokkos::View<std::int64_t*, exec> index("my index", 2);
  const auto message = [&](const array_ref& from, const array_ref& to, const image_options& options = {}) {
    return tests::message_of<error>([&] { convert_images(ctx, from, to, options); });
  };
  EXPECT_THAT(message(images, y), AllOf(StartsWith("prumo::convert_images: "), HasSubstr("as many images as y has"),
                                        HasSubstr("'my images': u8 [4 x 1 x 8 x 8]")));
  EXPECT_THAT(message(images, y, {.index = index}), HasSubstr("y with an image for each index"));
  EXPECT_THAT(message(images, large), HasSubstr("or a way of resizing"));
  EXPECT_THAT(message(images, colors), HasSubstr("the channels of the images"));
  EXPECT_THAT(message(y, y), HasSubstr("prumo::convert_images: "));
  EXPECT_THAT(message(large, y), HasSubstr("expected images of u8"));
  EXPECT_THAT(message(images, images), HasSubstr("prumo::convert_images: "));
  EXPECT_THAT(message(images, bytes("b", 4, 1, 8, 8)), HasSubstr("expected arrays of f32, f64, f16 or bf16"));
  const images_of<float> none("none", 4, 1, 0, 8);
  EXPECT_THAT(message(images, none, {.resizing = image_resizing::area}), HasSubstr("1 to 65535 rows and columns"));
}

/// Bytes are pixels, and no other operation takes them.
TEST(convert_images, is_the_only_operation_of_bytes) {
  context<exec> ctx;
  const Kokkos::View<std::uint8_t**, Kokkos::LayoutRight, exec> x("x", 4, 4), y("y", 4, 4);
  const Kokkos::View<std::int64_t*, exec> index("index", 4);
  const Kokkos::View<float**, Kokkos::LayoutRight, exec> numbers("numbers", 4, 4);
  const auto expect_refusal = [](const auto& call) {
    EXPECT_THAT(tests::message_of<argument_error>(call), HasSubstr("f32, f64, f16 or bf16; got "));
  };
  const array_ref from(x), to(y);
  expect_refusal([&] { add(ctx, from, from, to); });
  expect_refusal([&] { copy(ctx, from, to); });
  expect_refusal([&] { fill(ctx, 0, to); });
  expect_refusal([&] { cast(ctx, from, array_ref(numbers)); });
  expect_refusal([&] { gather_rows(ctx, from, array_ref(index), to); });
}

}  // namespace
}  // namespace prumo
