// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// An element-wise operation applied to chosen numbers: special values, the edges of a type.

#include "all_scalars.hpp"
#include <prumo/types.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace prumo::tests {

/// What `call(space, x, y)` writes to y, of type To, for each number of x, of type From. The numbers are repeated until
/// vectors of every width and the rest behind them see each, and all have to give the same.
template <class From, class To = From, class Call>
std::vector<compute_t<To>> applied(const Call& call, const std::vector<compute_t<From>>& numbers) {
  using space = Kokkos::DefaultExecutionSpace;
  const std::size_t count = numbers.size();
  const std::size_t repeats = 70;
  const std::size_t length = count * repeats + 1;
  const Kokkos::View<From*, space> x("x", length);
  const Kokkos::View<To*, space> y("y", length);
  const auto host_x = Kokkos::create_mirror_view(x);
  for (std::size_t i = 0; i < length; ++i) host_x(i) = static_cast<From>(numbers[i % count]);
  Kokkos::deep_copy(x, host_x);
  const space instance;
  call(instance, x, y);
  instance.fence();
  const auto host_y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  std::vector<compute_t<To>> results;
  for (std::size_t i = 0; i < count; ++i) results.push_back(static_cast<compute_t<To>>(host_y(i)));
  for (std::size_t i = count; i < length; ++i) {
    // Bits, not values: NaN and both zeros. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    EXPECT_EQ(std::memcmp(&host_y(i), &host_y(i % count), sizeof(To)), 0)
        << "element " << i << " is not element " << i % count << ", of the same number";
  }
  return results;
}

/// The same for one number.
template <class From, class To = From, class Call>
compute_t<To> applied(const Call& call, compute_t<From> number) {
  return applied<From, To>(call, std::vector<compute_t<From>>{number}).front();
}

/// The smallest positive number of T, a subnormal one.
template <class T>
compute_t<T> smallest() {
  if constexpr (sizeof(T) == 2) {
    T value;
    value.bits = 1;
    return static_cast<float>(value);
  } else {
    return std::numeric_limits<T>::denorm_min();
  }
}

/// The largest finite number of T.
template <class T>
compute_t<T> largest() {
  if constexpr (std::is_same_v<T, f16>) {
    return 65504;
  } else if constexpr (std::is_same_v<T, bf16>) {
    return 0x1.fep127f;
  } else {
    return std::numeric_limits<T>::max();
  }
}

}  // namespace prumo::tests
