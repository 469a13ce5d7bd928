// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values at the edges that <prumo/activation_backward.hpp> names, the result in the place of an argument, refusals.

#include "operation_test.hpp"
#include <prumo/activation_backward.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace prumo {
namespace {

using namespace tests;

template <class T>
class activation_backward : public testing::Test {
 protected:
  using C = compute_t<T>;
  using vector = Kokkos::View<T*, exec>;

  /// The results for pairs of y and dy, which are repeated until vectors of every width and the rest behind them see
  /// each.
  static std::vector<C> results_of(activation_function function, const std::vector<std::pair<C, C>>& pairs) {
    const std::size_t count = pairs.size(), length = 70 * count + 1;
    const vector y("y", length), dy("dy", length), dx("dx", length);
    tests::set_elements(y, [&](std::size_t i) { return static_cast<T>(pairs[i % count].first); });
    tests::set_elements(dy, [&](std::size_t i) { return static_cast<T>(pairs[i % count].second); });
    const exec instance;
    activate_backward(instance, function, y, dy, dx);
    activate_backward(instance, function, y, dy, dy);
    instance.fence();
    const auto found = tests::host_copy(dx), in_place = tests::host_copy(dy);
    std::vector<C> results;
    for (std::size_t i = 0; i < length; ++i) {
      const C value = static_cast<C>(found(i)), other = static_cast<C>(in_place(i));
      if (i < count) results.push_back(value);
      EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other))) << i;
      const C first = results[i % count];
      EXPECT_TRUE(value == first || (std::isnan(value) && std::isnan(first))) << i;
    }
    return results;
  }
};
TYPED_TEST_SUITE(activation_backward, tests::all_scalars);

TYPED_TEST(activation_backward, relu_lets_pass_where_the_result_is_positive) {
  using C = compute_t<TypeParam>;
  const C infinity = std::numeric_limits<C>::infinity(), nan = std::numeric_limits<C>::quiet_NaN();
  const auto found =
      this->results_of(activation_function::relu,
                       {{C(0), C(3)}, {C(-0.0), C(3)}, {C(0.5), C(3)}, {infinity, C(-2)}, {C(0), nan}, {nan, C(1)}});
  EXPECT_EQ(found[0], C(0));
  EXPECT_EQ(found[1], C(0));
  EXPECT_EQ(found[2], C(3));
  EXPECT_EQ(found[3], C(-2));
  EXPECT_EQ(found[4], C(0));
  EXPECT_EQ(found[5], C(0));
}

TYPED_TEST(activation_backward, saturated_functions_have_no_slope) {
  using C = compute_t<TypeParam>;
  const C nan = std::numeric_limits<C>::quiet_NaN();
  const auto sigmoid =
      this->results_of(activation_function::sigmoid, {{C(0), C(8)}, {C(1), C(8)}, {C(0.5), C(8)}, {nan, C(1)}});
  EXPECT_EQ(sigmoid[0], C(0));
  EXPECT_EQ(sigmoid[1], C(0));
  EXPECT_EQ(sigmoid[2], C(2));
  EXPECT_TRUE(std::isnan(sigmoid[3]));
  const auto tanh = this->results_of(activation_function::tanh, {{C(-1), C(8)}, {C(1), C(8)}, {C(-0.5), C(8)}});
  EXPECT_EQ(tanh[0], C(0));
  EXPECT_EQ(tanh[1], C(0));
  EXPECT_EQ(tanh[2], C(6));
}

TYPED_TEST(activation_backward, none_hands_the_gradient_on) {
  using C = compute_t<TypeParam>;
  const auto found = this->results_of(activation_function::none, {{C(7), C(3)}, {C(0), C(-2)}});
  EXPECT_EQ(found[0], C(3));
  EXPECT_EQ(found[1], C(-2));
}

TEST(activate_backward, refuses_what_does_not_follow_from_the_result) {
  const Kokkos::View<float*, exec> y("y", 10), dy("my dy", 9), dx("dx", 10);
  for (const auto function : {activation_function::gelu, activation_function::gelu_by_tanh}) {
    EXPECT_THAT(tests::message_of<argument_error>([&] { activate_backward(exec(), function, y, y, dx); }),
                AllOf(StartsWith("prumo::activate_backward: expected none, relu, sigmoid or tanh"),
                      HasSubstr("got " + std::string(activation_name(function)))));
  }
  EXPECT_THAT(tests::message_of<shape_error>([&] { activate_backward(exec(), activation_function::relu, y, dy, dx); }),
              AllOf(StartsWith("prumo::activate_backward: "), HasSubstr("'my dy': f32 [9]")));
}

}  // namespace
}  // namespace prumo
