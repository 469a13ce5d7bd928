// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: images as rows, that the gradients are the adjoints of the layer, refusals.

#include "operation_test.hpp"
#include <prumo/dense.hpp>
#include <prumo/dense_backward.hpp>

#include <utility>

namespace prumo {
namespace {

using namespace tests;
template <class T>
using vector = Kokkos::View<T*, exec>;

template <class A, class B>
std::int64_t differences(const A& a, const B& b) {
  const auto x = tests::host_copy(a);
  const auto y = tests::host_copy(b);
  std::int64_t different = 0;
  for (std::size_t i = 0; i < x.span(); ++i) different += x.data()[i] != y.data()[i] ? 1 : 0;
  return different;
}

TEST(dense_backward, takes_images_as_rows) {
  context<exec> ctx;
  const tests::images<float> x("x", 3, 2, 4, 5), dx("dx", 3, 2, 4, 5);
  const row_major<float> rows(x.data(), 3, 40), of_rows("of_rows", 3, 40);
  const row_major<float> w("w", 7, 40), dy("dy", 3, 7), dw("dw", 7, 40), dw_of_rows("dw_of_rows", 7, 40);
  const vector<float> bias("bias", 7);
  tests::set_uniform(x, 1);
  tests::set_uniform(w, 2);
  tests::set_uniform(dy, 3);
  dense_backward_data(ctx, dy, w, dx);
  dense_backward_data(ctx, dy, w, of_rows);
  dense_backward_weights(ctx, x, dy, dw, {.bias = bias});
  dense_backward_weights(ctx, rows, dy, dw_of_rows);
  ctx.fence();
  EXPECT_EQ(differences(dx, of_rows), 0);
  EXPECT_EQ(differences(dw, dw_of_rows), 0);
  const auto sums = tests::host_copy(bias);
  const auto gradients = tests::host_copy(dy);
  for (std::size_t f = 0; f < 7; ++f) {
    EXPECT_NEAR(sums(f), gradients(0, f) + gradients(1, f) + gradients(2, f), 1e-6f) << f;
    EXPECT_NE(sums(f), 0.0f);
  }
}

template <class A, class B>
double inner_product(const A& a, const B& b) {
  const auto x = tests::host_copy(a), y = tests::host_copy(b);
  double sum = 0;
  tests::for_each_index(x, [&](auto... indices) { sum += x(indices...) * y(indices...); });
  return sum;
}

/// <x w^T + bias, dy> = <x, dx> + <bias, db> = <w, dw> + <bias, db>.
TEST(dense_backward, is_the_adjoint_of_the_layer) {
  context<exec> ctx;
  for (const auto& [n, inputs, features] : {std::tuple{1, 216, 10}, {64, 400, 120}, {33, 7, 1}}) {
    const row_major<double> x("x", n, inputs), w("w", features, inputs), y("y", n, features), dy("dy", n, features);
    const row_major<double> dx("dx", n, inputs), dw("dw", features, inputs);
    const vector<double> bias("bias", features), db("db", features);
    tests::set_uniform(x, 1);
    tests::set_uniform(w, 2);
    tests::set_uniform(dy, 3);
    tests::set_uniform(bias, 4);
    dense(ctx, x, w, y, {.bias = bias});
    dense_backward_data(ctx, dy, w, dx);
    dense_backward_weights(ctx, x, dy, dw, {.bias = db});
    ctx.fence();
    const double expected = inner_product(y, dy), of_bias = inner_product(bias, db);
    // Three million products below 1 at most, whose errors are of either sign.
    const double tolerance = 1e-14 * static_cast<double>(n) * inputs * features + 1e-12;
    EXPECT_NEAR(inner_product(x, dx) + of_bias, expected, tolerance) << n << " " << inputs << " " << features;
    EXPECT_NEAR(inner_product(w, dw) + of_bias, expected, tolerance) << n << " " << inputs << " " << features;
  }
}

TEST(dense_backward, refuses_what_does_not_fit) {
  context<exec> ctx;
  const row_major<float> x("my x", 3, 40), w("my w", 7, 40), dy("my dy", 3, 7), narrow("narrow", 7, 39),
      dx("dx", 3, 40);
  const vector<float> bias("my bias", 6);
  const auto of_data = [&](const array_ref& a, const array_ref& b, const array_ref& c,
                           const dense_backward_options& options = {}) {
    return tests::message_of<error>([&] { dense_backward_data(ctx, a, b, c, options); });
  };
  const auto of_weights = [&](const array_ref& a, const array_ref& b, const array_ref& c,
                              const dense_backward_options& options = {}) {
    return tests::message_of<error>([&] { dense_backward_weights(ctx, a, b, c, options); });
  };
  EXPECT_THAT(
      of_data(dy, narrow, dx),
      AllOf(StartsWith("prumo::dense_backward_data: expected dx with a row for each row of dy, and w with a row "
                       "for each column of dy and a column for each input"),
            HasSubstr("'narrow': f32 [7 x 39]")));
  EXPECT_THAT(of_data(dy, w, bias), HasSubstr("dx to have rank 2 or 4"));
  EXPECT_THAT(of_data(dy, w, dx, {.bias = bias}), HasSubstr("comes from dense_backward_weights()"));
  EXPECT_THAT(of_weights(x, dy, narrow),
              AllOf(StartsWith("prumo::dense_backward_weights: "), HasSubstr("dw with a row for each column of dy")));
  EXPECT_THAT(of_weights(x, dy, w, {.bias = bias}), HasSubstr("a bias with an entry for each column of dy"));
  EXPECT_THAT(of_weights(row_major<double>("d", 3, 40), dy, w), HasSubstr("arrays of the same type"));
  const tests::images<float> images("images", 3, 2, 4, 6);
  const auto part = Kokkos::subview(images, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL, std::pair{0, 5});
  EXPECT_THAT(of_weights(part, dy, w), HasSubstr("images without gaps"));
  EXPECT_THAT(of_data(dy, w, dx, {.implementation = "no such"}), HasSubstr("no such"));
  EXPECT_THROW(dense_backward_data(ctx, x, row_major<float>("square", 40, 40), x), alias_error);
}

}  // namespace
}  // namespace prumo
