// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the case does not reach: images as rows, and refusals.

#include "operation_test.hpp"
#include <prumo/dense.hpp>

#include <utility>

namespace prumo {
namespace {

using namespace tests;
using matrix = Kokkos::View<float**, Kokkos::LayoutRight, exec>;
using numbers = Kokkos::View<float*, exec>;

TEST(dense, takes_images_as_rows) {
  context<exec> ctx;
  const tests::images<float> x("x", 3, 2, 4, 5);
  const matrix w("w", 7, 40), of_images("of_images", 3, 7), of_rows("of_rows", 3, 7);
  const numbers bias("bias", 7);
  tests::set_uniform(x, 1);
  tests::set_uniform(w, 2);
  tests::set_uniform(bias, 3);
  const dense_options options{.bias = bias, .activation = activation_function::tanh};
  dense(ctx, x, w, of_images, options);
  dense(ctx, matrix(x.data(), 3, 40), w, of_rows, options);
  ctx.fence();
  const auto expected = tests::host_copy(of_rows), found = tests::host_copy(of_images);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      EXPECT_EQ(found(i, j), expected(i, j));
      EXPECT_NE(found(i, j), 0);
    }
  }
}

TEST(dense, refuses_what_does_not_fit) {
  context<exec> ctx;
  const matrix x("my x", 3, 40), w("my w", 7, 40), y("my y", 3, 7), narrow("narrow", 7, 39);
  const numbers bias("my bias", 6);
  const auto message = [&](const array_ref& a, const array_ref& b, const array_ref& c,
                           const dense_options& options = {}) {
    return tests::message_of<error>([&] { dense(ctx, a, b, c, options); });
  };
  EXPECT_THAT(message(x, narrow, y), AllOf(StartsWith("prumo::dense: "), HasSubstr("w with a column for each input"),
                                           HasSubstr("'narrow': f32 [7 x 39]")));
  EXPECT_THAT(message(x, w, x), HasSubstr("y with a row for each row of x"));
  EXPECT_THAT(message(x, w, y, {.bias = bias}), HasSubstr("a bias with an entry for each row of w"));
  EXPECT_THAT(message(bias, w, y), HasSubstr("x to have rank 2 or 4"));
  EXPECT_THAT(message(Kokkos::View<double**, exec>("d", 3, 40), w, y), HasSubstr("arrays of the same type"));
  const tests::images<float> images("images", 3, 2, 4, 6);
  const auto part = Kokkos::subview(images, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL, std::pair{0, 5});
  EXPECT_THAT(message(part, w, y), HasSubstr("images without gaps"));
  EXPECT_THROW(dense(ctx, y, matrix("square", 7, 7), y), alias_error);
}

}  // namespace
}  // namespace prumo
