// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contexts that have weights of their own, memory that is kept from call to call, and images of bytes.

#include "filling.hpp"
#include "message_of.hpp"
#include "own_instance.hpp"
#include <prumo/convolution.hpp>
#include <prumo/error.hpp>
#include <prumo/images.hpp>
#include <prumo/spaces.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>

namespace prumo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::images;
using tests::set_whole_numbers;
using exec = Kokkos::DefaultExecutionSpace;

/// A GPU has one place for weights in constant memory. Contexts that are used in turns, or one after the other, must
/// not see each other's.
TEST(convolve, contexts_have_weights_of_their_own) {
  const images<float> x("x", 600, 1, 28, 28);
  set_whole_numbers(x, 1);
  for (const auto& [filters, side, pooled] : {std::tuple{6U, 5U, true}, {4U, 7U, false}, {3U, 7U, true}}) {
    const std::size_t rows = (28 - side + 1) / (pooled ? 2 : 1);
    convolution_options options{.pooling = pooled ? convolution_pooling::maximum : convolution_pooling::none};
    images<float> w[2], y[2], expected[2];
    for (std::size_t i = 0; i < 2; ++i) {
      w[i] = images<float>("w", filters, 1, side, side);
      y[i] = images<float>("y", 600, filters, rows, rows);
      expected[i] = images<float>("expected", 600, filters, rows, rows);
      set_whole_numbers(w[i], 3 + i);
      context<exec> ctx;
      options.implementation = "portable";
      convolve(ctx, x, w[i], expected[i], options);
      ctx.fence();
    }
    options.implementation = "direct";
    const auto expect_all = [&](const std::string& what) {
      for (std::size_t i = 0; i < 2; ++i) {
        const auto got = tests::host_copy(y[i]), wanted = tests::host_copy(expected[i]);
        std::int64_t wrong = 0;
        tests::for_each_index(y[i], [&](auto... at) { wrong += got(at...) == wanted(at...) ? 0 : 1; });
        EXPECT_EQ(wrong, 0) << what << ", filters of " << side << ", context " << i;
        Kokkos::deep_copy(y[i], -1.0f);
      }
    };
    const auto other_instance = tests::make_own_instance<exec>();
    {
      context<exec> first, second(other_instance);
      for (int turn = 0; turn < 3; ++turn) {
        convolve(first, x, w[0], y[0], options);
        convolve(second, x, w[1], y[1], options);
      }
      first.fence();
      second.fence();
      expect_all("in turns");
    }
    {
      context<exec> first;
      convolve(first, x, w[0], y[0], options);
    }  // its work may still be under way
    context<exec> second(other_instance);
    convolve(second, x, w[1], y[1], options);
    exec().fence();
    second.fence();
    expect_all("one after the other");
  }
}

/// Images of bytes give the bits of their numbers, where one kernel takes them, and nothing is done elsewhere.
TEST(convolve, takes_images_of_bytes) {
  struct layer {
    std::size_t images, filters, side, filter;
    activation_function activation;
  };
  std::mt19937 random(31);
  for (const layer& of : {layer{700, 6, 48, 5, activation_function::tanh},
                          {500, 4, 86, 7, activation_function::relu},
                          {336, 3, 30, 7, activation_function::none},
                          {3, 6, 48, 5, activation_function::tanh},
                          {400, 7, 48, 5, activation_function::relu}}) {
    using bytes_view = Kokkos::View<std::uint8_t****, Kokkos::LayoutRight, exec>;
    const std::size_t rows = (of.side - of.filter + 1) / 2;
    const bytes_view bytes("bytes", of.images, 1, of.side, of.side);
    tests::set_elements(bytes, [&](auto...) { return static_cast<std::uint8_t>(random() % 256); });
    const images<float> x("x", of.images, 1, of.side, of.side), w("w", of.filters, 1, of.filter, of.filter),
        y("y", of.images, of.filters, rows, rows), expected("expected", of.images, of.filters, rows, rows);
    const Kokkos::View<float*, exec> bias("bias", of.filters);
    const auto number = [&](auto...) { return static_cast<float>(random() % 1000) / 500.0f - 1.0f; };
    tests::set_elements(w, number);
    tests::set_elements(bias, number);
    Kokkos::deep_copy(y, -7.0f);
    context<exec> ctx;
    const convolution_options options{.bias = array_ref(bias),
                                      .activation = of.activation,
                                      .pooling = convolution_pooling::maximum,
                                      .window = {2, 2, 2, 2, 0, 0, window_rounding::down}};
    constexpr double scale = 1.0 / 255;
    const bool is_taken = convolve_bytes(ctx, array_ref(bytes), scale, array_ref(w), array_ref(y), options);
    if (is_taken) {
      convert_images(ctx.instance(), bytes, x, {.scale = scale});
      convolve(ctx, x, w, expected, options);
    } else {
      Kokkos::deep_copy(ctx.instance(), expected, -7.0f);
    }
    ctx.fence();
    const auto got = tests::host_copy(y), wanted = tests::host_copy(expected);
    std::int64_t wrong = 0;
    tests::for_each_index(y, [&](auto... at) { wrong += got(at...) == wanted(at...) ? 0 : 1; });
    EXPECT_EQ(wrong, 0) << of.images << " images of " << of.side << ", taken: " << is_taken;
    EXPECT_TRUE(!is_host_space<exec> || !is_taken);
#if defined(KOKKOS_ENABLE_CUDA) && defined(KOKKOS_ARCH_HOPPER)
    EXPECT_TRUE(is_taken || of.images < 500) << of.images << " images of " << of.side;
#endif
    EXPECT_THAT(tests::message_of<argument_error>(
                    [&] { convolve_bytes(ctx, array_ref(x), scale, array_ref(w), array_ref(y), options); }),
                AllOf(StartsWith("prumo::convolve"), HasSubstr("images of u8")));
  }
}

TEST(convolve, takes_no_memory_when_it_is_called_again) {
  context<exec> ctx;
  const images<float> x("x", 4, 3, 20, 20), w("w", 6, 3, 5, 5), y("y", 4, 6, 16, 16);
  convolve(ctx, x, w, y);
  const std::size_t bytes = ctx.workspace_bytes();
  convolve(ctx, x, w, y);
  EXPECT_EQ(ctx.workspace_bytes(), bytes);
}

}  // namespace
}  // namespace prumo
