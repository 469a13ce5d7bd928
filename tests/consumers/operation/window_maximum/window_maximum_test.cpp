// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_maximum.hpp"

#include <gtest/gtest.h>

namespace mine {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using image_view = Kokkos::View<float****, exec>;

TEST(window_maximum, refuses_other_extents_than_there_are_windows) {
  prumo::context<exec> ctx;
  const image_view x("x", 1, 1, 5, 5);
  EXPECT_NO_THROW(window_maximum(ctx, 3, 2, x, image_view("y", 1, 1, 2, 2)));
  EXPECT_THROW(window_maximum(ctx, 3, 2, x, image_view("y", 1, 1, 2, 3)), prumo::shape_error);
}

}  // namespace
}  // namespace mine
