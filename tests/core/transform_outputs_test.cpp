// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formulas with several outputs.

#include "filling.hpp"
#include "message_of.hpp"
#include <prumo/error.hpp>
#include <prumo/transform.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
using memory = exec::memory_space;
using tests::message_of;

/// A step of Adam (Kingma and Ba, 2015, algorithm 1) for one weight.
struct adam_step {
  float rate, decay, rest, square_decay, square_rest, correction, square_correction, epsilon;

  KOKKOS_FUNCTION auto operator()(float weight, float gradient, float moment, float square) const {
    const float next_moment = decay * moment + rest * gradient;
    const float next_square = square_decay * square + square_rest * gradient * gradient;
    const float step = next_moment * correction / (Kokkos::sqrt(next_square * square_correction) + epsilon);
    return values(weight - rate * step, next_moment, next_square);
  }
};

constexpr adam_step adam{0.01f, 0.9f, 0.1f, 0.999f, 0.001f, 1.25f, 1.5f, 1e-8f};

/// All inputs are above zero, so that nothing cancels but in the weight, and relative errors add up: a moment has 3
/// roundings, a square 4, a step 3 + 1 of its numerator, (4 + 1) / 2 + 1 of the root, and 2 of the sum and the
/// quotient. The weight has one more of the product and one of the difference.
template <class Layout>
void expect_adam(std::size_t rows, std::size_t columns, std::size_t beyond) {
  using matrix = Kokkos::View<float**, Layout, memory>;
  const auto make = [&](const std::string& label, float scale) {
    const matrix larger(label, rows + beyond, columns + beyond);
    const auto copy = Kokkos::create_mirror_view(larger);
    for (std::size_t i = 0; i < rows + beyond; ++i) {
      for (std::size_t j = 0; j < columns + beyond; ++j) {
        copy(i, j) = scale * (1 + static_cast<float>((i * 37 + j * 11) % 101));
      }
    }
    Kokkos::deep_copy(larger, copy);
    return Kokkos::subview(larger, std::pair{beyond, rows + beyond}, std::pair{beyond, columns + beyond});
  };
  const auto weight = make("weight", 0.02f), gradient = make("gradient", 0.013f), moment = make("moment", 0.007f),
             square = make("square", 0.0003f);
  const auto old_weight = tests::host_copy(weight), old_gradient = tests::host_copy(gradient),
             old_moment = tests::host_copy(moment), old_square = tests::host_copy(square);
  const exec instance;
  transform(instance, adam, weight, gradient, moment, square, weight, moment, square);
  instance.fence();
  const auto new_weight = tests::host_copy(weight), new_moment = tests::host_copy(moment),
             new_square = tests::host_copy(square);
  constexpr double unit = std::numeric_limits<float>::epsilon() / 2;
  const auto gamma = [](int roundings) { return roundings * unit / (1 - roundings * unit); };
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double g = old_gradient(i, j);
      const double m = double{adam.decay} * old_moment(i, j) + double{adam.rest} * g;
      const double v = double{adam.square_decay} * old_square(i, j) + double{adam.square_rest} * g * g;
      const double change =
          double{adam.rate} * m * adam.correction / (std::sqrt(v * adam.square_correction) + double{adam.epsilon});
      const double w = old_weight(i, j) - change;
      ASSERT_NEAR(new_moment(i, j), m, gamma(3) * m);
      ASSERT_NEAR(new_square(i, j), v, gamma(4) * v);
      ASSERT_NEAR(new_weight(i, j), w, gamma(12) * change + unit * (std::abs(w) + gamma(12) * change)) << i << ' ' << j;
      ASSERT_EQ(tests::host_copy(gradient)(0, 0), old_gradient(0, 0));
    }
  }
}

TEST(several_outputs, a_step_of_adam_writes_three_arrays_in_place) {
  expect_adam<Kokkos::LayoutRight>(40, 97, 0);
  expect_adam<Kokkos::LayoutLeft>(16, 32, 0);
  expect_adam<Kokkos::LayoutRight>(13, 29, 3);
  expect_adam<Kokkos::LayoutLeft>(3, 1, 1);
}

/// An output of each type, of different alignments: what is narrowed and what is not, side by side.
struct multiples {
  KOKKOS_FUNCTION auto operator()(float x, float y) const {
    return values(x + y, static_cast<double>(x) * 2, y * 3, x * 4);
  }
};

TEST(several_outputs, types_and_lengths_may_be_any) {
  const exec instance;
  context<exec> streaming(instance);
  streaming.set_working_set(std::size_t{1} << 40);  // a host writes past its caches then
  for (const std::size_t length : {0, 1, 31, 64, 100, 1000, 5000, 70001}) {
    for (const std::size_t first : {0, 1}) {
      const auto make = [&]<class T>(T) {
        const Kokkos::View<T*, memory> larger("view", length + 2);
        return Kokkos::subview(larger, Kokkos::pair(first, first + length));
      };
      const auto x = make(f16()), a = make(f16());
      const auto y = make(bf16()), c = make(bf16());
      const auto b = make(0.0);
      const auto d = make(0.0f);
      tests::set_elements(x, [](std::size_t i) { return static_cast<f16>(static_cast<float>(i % 60)); });
      tests::set_elements(y, [](std::size_t i) { return static_cast<bf16>(static_cast<float>(i % 40)); });
      for (const bool streams : {false, true}) {
        if (streams) {
          transform(streaming, multiples{}, x, y, a, b, c, d);
        } else {
          transform(instance, multiples{}, x, y, a, b, c, d);
        }
        instance.fence();
        const auto a_host = tests::host_copy(a);
        const auto b_host = tests::host_copy(b);
        const auto c_host = tests::host_copy(c);
        const auto d_host = tests::host_copy(d);
        for (std::size_t i = 0; i < length; ++i) {
          const auto n = static_cast<float>(i % 60), m = static_cast<float>(i % 40);
          ASSERT_EQ(static_cast<float>(a_host(i)), n + m) << i << " of " << length;
          ASSERT_EQ(b_host(i), double{n} * 2) << i << " of " << length;
          ASSERT_EQ(static_cast<float>(c_host(i)), m * 3) << i << " of " << length;
          ASSERT_EQ(d_host(i), n * 4) << i << " of " << length;
        }
      }
    }
  }
}

struct ramp {
  KOKKOS_FUNCTION auto operator()(float row, float column) const { return values(row + column, row * column); }
};

/// Outputs of different layouts, so that one is strided, and inputs that are repeated.
TEST(several_outputs, layouts_differ_and_inputs_broadcast) {
  const exec instance;
  const Kokkos::View<float**, Kokkos::LayoutRight, memory> rows("rows", 50, 1), sums("sums", 50, 70);
  const Kokkos::View<float*, memory> columns("columns", 70);
  const Kokkos::View<float**, Kokkos::LayoutLeft, memory> products("products", 50, 70);
  tests::set_elements(rows, [](std::size_t i, std::size_t) { return static_cast<float>(i); });
  tests::set_elements(columns, [](std::size_t j) { return static_cast<float>(j * 3); });
  transform(instance, ramp{}, rows, columns, sums, products);
  instance.fence();
  const auto found_sums = tests::host_copy(sums);
  const auto found_products = tests::host_copy(products);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 70; ++j) {
      ASSERT_EQ(found_sums(i, j), static_cast<float>(i + 3 * j));
      ASSERT_EQ(found_products(i, j), static_cast<float>(i * 3 * j));
    }
  }
}

TEST(several_outputs, that_overlap_or_differ_in_extents_are_refused) {
  const exec instance;
  const Kokkos::View<float*, memory> x("x", 10), y("first", 10), z("second", 11);
  EXPECT_EQ(message_of<shape_error>([&] { transform(instance, ramp{}, x, x, y, z); }).substr(0, 76),
            "prumo::transform: expected outputs of the same extents; got output 'first': ");
  const auto part = Kokkos::subview(z, Kokkos::pair(0, 10));
  const auto further = Kokkos::subview(z, Kokkos::pair(1, 11));
  EXPECT_THAT(message_of<alias_error>([&] { transform(instance, ramp{}, x, x, part, further); }),
              testing::StartsWith(
                  "prumo::transform: expected outputs that are apart from each other; output 'second': f32 [10]"));
  EXPECT_THAT(message_of<alias_error>([&] { transform(instance, ramp{}, x, x, y, y); }),
              testing::HasSubstr("expected outputs that are apart from each other"));
  EXPECT_THAT(message_of<alias_error>([&] { transform(instance, ramp{}, part, x, y, further); }),
              testing::HasSubstr("expected an output that is apart from the inputs, or exactly one of them"));
}

}  // namespace
}  // namespace prumo
