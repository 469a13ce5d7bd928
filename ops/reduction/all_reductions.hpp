// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the tests of reductions share: vectors of given numbers, and all seven results of one.

#include <prumo/reduction.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace prumo::tests {

using space = Kokkos::DefaultExecutionSpace;
using index_view = Kokkos::View<std::int64_t, space>;

template <class T>
double value_of(const T& stored) {
  return static_cast<double>(static_cast<compute_t<T>>(stored));
}

template <class View>
auto scalar_of(const View& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view)();
}

/// A vector on the device with these numbers.
template <class T>
Kokkos::View<T*, space> vector_of(const std::vector<double>& numbers) {
  const Kokkos::View<T*, space> result("x", numbers.size());
  const auto host = Kokkos::create_mirror_view(result);
  for (std::size_t index = 0; index < numbers.size(); ++index) {
    host(index) = static_cast<T>(static_cast<compute_t<T>>(numbers[index]));
  }
  Kokkos::deep_copy(result, host);
  return result;
}

/// All seven reductions of a view, in double and std::int64_t.
struct all_reductions {
  double sum, sum_of_squares, mean, max, min;
  std::int64_t argmax, argmin;

  template <class View>
  all_reductions(context<space>& ctx, const View& x) {
    using T = typename View::non_const_value_type;
    const Kokkos::View<T, space> result("result");
    const index_view index("index");
    const auto take = [&](double& target, auto reduce) {
      reduce(result);
      ctx.fence();
      target = value_of(scalar_of(result));
    };
    take(sum, [&](const auto& r) { prumo::sum(ctx, x, r); });
    take(sum_of_squares, [&](const auto& r) { prumo::sum_of_squares(ctx, x, r); });
    take(mean, [&](const auto& r) { prumo::mean(ctx, x, r); });
    take(max, [&](const auto& r) { prumo::max(ctx, x, r); });
    take(min, [&](const auto& r) { prumo::min(ctx, x, r); });
    prumo::argmax(ctx, x, index);
    ctx.fence();
    argmax = scalar_of(index);
    prumo::argmin(ctx, x, index);
    ctx.fence();
    argmin = scalar_of(index);
  }
};

using reduced_types = testing::Types<float, double, f16, bf16>;

}  // namespace prumo::tests
