// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// convert_images resizes as `prumo data resize` does, byte for byte.

#include "host_copy.hpp"
#include <prumo/context.hpp>
#include <prumo/data/digits.hpp>
#include <prumo/data/resize.hpp>
#include <prumo/images.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace prumo::data {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

TEST(resized_images, are_those_of_the_host_tool) {
  const image_set digits = generate_digits(0, 9).images;
  const auto extent = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  const Kokkos::View<std::uint8_t****, Kokkos::LayoutRight, exec> images("images", 9, 1, 28, 28);
  Kokkos::deep_copy(images, Kokkos::View<const std::uint8_t****, Kokkos::LayoutRight, Kokkos::HostSpace>(
                                digits.pixels.data(), 9, 1, 28, 28));
  context<exec> ctx;
  for (const auto& [height, width] : {std::pair{86, 48}, {13, 9}, {28, 28}, {1, 300}, {29, 1}}) {
    for (const auto& [tool, operation] :
         {std::pair{resizing::area, image_resizing::area}, {resizing::bilinear, image_resizing::bilinear}}) {
      const image_set expected = resized(digits, height, width, tool);
      const Kokkos::View<float****, Kokkos::LayoutRight, exec> y("y", 9, 1, extent(height), extent(width));
      image_options options;
      options.scale = 1;
      options.resizing = operation;
      convert_images(ctx, images, y, options);
      ctx.fence();
      const auto found = tests::host_copy(y);
      for (std::size_t i = 0; i < expected.pixels.size(); ++i) {
        ASSERT_EQ(found.data()[i], static_cast<float>(expected.pixels[i]))
            << height << " x " << width << ", byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace prumo::data
