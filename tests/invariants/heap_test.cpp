// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warm call on the host costs no heap allocation beyond those of Kokkos' own parallel_for: small arrays
// would feel it.

#include "kokkos_events.hpp"
#include <prumo/prumo.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace prumo {
namespace {

using exec = Kokkos::DefaultHostExecutionSpace;
using tests::heap_allocations_of;

struct empty_kernel {
  void operator()(int) const {}
};

std::size_t allocations_of_kokkos() {
  const exec instance;
  const std::string label = "prumo::tests::a label that is too long for the small string optimisation";
  const auto launch = [&] { Kokkos::parallel_for(label, Kokkos::RangePolicy<exec>(instance, 0, 10), empty_kernel{}); };
  launch();
  return heap_allocations_of(launch);
}

/// Allocations of the second call, beyond those of the same number of Kokkos' own kernels.
template <class Call>
std::size_t surplus_of(const Call& call, std::size_t kernels = 1) {
  call();
  const std::size_t found = heap_allocations_of(call);
  const std::size_t allowed = kernels * allocations_of_kokkos();
  return found > allowed ? found - allowed : 0;
}

struct halve {
  KOKKOS_FUNCTION float operator()(float x) const { return 0.5f * x; }
};

class heap : public testing::Test {
 protected:
  using vector = Kokkos::View<float*, Kokkos::HostSpace>;
  using matrix = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;

  exec instance_;
  context<exec> ctx_{instance_};
  vector x_{"a label that is too long for the small string optimisation, x", 100000};
  vector y_{"a label that is too long for the small string optimisation, y", 100000};
  matrix a_{"a label that is too long for the small string optimisation, a", 100, 100};
  matrix b_{"a label that is too long for the small string optimisation, b", 100, 100};
};

TEST_F(heap, is_watched) {
  EXPECT_EQ(heap_allocations_of([] { const auto number = std::make_unique<volatile int>(1); }), 1u);
}

TEST_F(heap, elementwise_on_an_instance) {
  EXPECT_EQ(surplus_of([&] { add(instance_, x_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { mul(instance_, x_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { scale(instance_, 2.0f, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { sigmoid(instance_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { tanh(instance_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { exp(instance_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { gelu(instance_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { gelu(instance_, x_, y_, gelu_form::tanh); }), 0u);
  EXPECT_EQ(surplus_of([&] { axpby(instance_, 2.0f, x_, 3.0f, y_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { axpby(instance_, 2.0f, x_, 0.0f, y_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { cast(instance_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { fill(instance_, 2.0f, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { copy(instance_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { transform(instance_, halve{}, x_, y_); }), 0u);
}

TEST_F(heap, elementwise_with_a_context) {
  EXPECT_EQ(surplus_of([&] { add(ctx_, x_, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { transform(ctx_, halve{}, x_, y_); }), 0u);
}

TEST_F(heap, elementwise_on_strided_views) {
  const auto half = Kokkos::subview(a_, Kokkos::ALL, std::pair{0, 50});
  const auto other = Kokkos::subview(b_, Kokkos::ALL, std::pair{50, 100});
  EXPECT_EQ(surplus_of([&] { add(ctx_, half, half, other); }), 0u);
}

TEST_F(heap, reductions) {
  const Kokkos::View<float, Kokkos::HostSpace> total("total");
  const Kokkos::View<std::int64_t, Kokkos::HostSpace> place("place");
  EXPECT_EQ(surplus_of([&] { sum(ctx_, x_, total); }, 2), 0u);
  EXPECT_EQ(surplus_of([&] { max(ctx_, x_, total); }, 2), 0u);
  EXPECT_EQ(surplus_of([&] { argmin(ctx_, x_, place); }, 2), 0u);
  EXPECT_EQ(surplus_of([&] { mean_rows(ctx_, a_, Kokkos::subview(x_, std::pair{0, 100})); }), 0u);
  EXPECT_EQ(surplus_of([&] { softmax(ctx_, a_, b_); }), 0u);
  EXPECT_EQ(surplus_of([&] { log_softmax(ctx_, a_, b_); }), 0u);
}

TEST_F(heap, training) {
  const Kokkos::View<double*, Kokkos::HostSpace> rate("rate", 1), sums("sums", 2);
  const Kokkos::View<std::int32_t*, Kokkos::HostSpace> labels("labels", 100);
  const vector mean("mean", 100000), square("square", 100000), bias("bias", 100);
  const matrix weights("weights", 100, 100);
  EXPECT_EQ(surplus_of([&] { sgd(instance_, rate, x_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { momentum(instance_, rate, 0.9, x_, mean, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { adam(instance_, rate, rate, x_, mean, square, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { activate_backward(instance_, activation_function::tanh, x_, y_, y_); }), 0u);
  EXPECT_EQ(surplus_of([&] { softmax_cross_entropy(ctx_, a_, labels, b_, sums); }, 2), 0u);
  EXPECT_EQ(surplus_of([&] { sigmoid_cross_entropy(ctx_, a_, labels, b_, sums); }, 2), 0u);
  EXPECT_EQ(surplus_of([&] { squared_error(ctx_, a_, labels, b_, sums); }, 2), 0u);
  EXPECT_EQ(surplus_of([&] { dense_backward_weights(ctx_, a_, b_, weights, {.bias = bias}); }, 3), 0u);
}

}  // namespace
}  // namespace prumo
