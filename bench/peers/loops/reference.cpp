// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference.hpp"

#include "philox.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace prumo::peers {
namespace {

template <class T>
long double input(std::uint64_t seed, std::uint64_t array, std::int64_t index) {
  return static_cast<long double>(uniform<T>(seed, array, static_cast<std::uint64_t>(index)));
}

template <class T>
constexpr long double unit_roundoff = std::numeric_limits<T>::epsilon() / 2;

template <class T>
long double ulp(long double value) {
  const int exponent = value == 0 ? std::numeric_limits<T>::min_exponent - 1 : std::ilogb(value);
  return std::ldexp(1.0L,
                    std::max(exponent, std::numeric_limits<T>::min_exponent - 1) - std::numeric_limits<T>::digits + 1);
}

/// The sum of n numbers of the generator. The bound is a statistical one: a partial sum of k such numbers is near
/// sqrt(k / 3), each addition rounds it, and the roundings' signs vary, which makes a standard deviation of n u / 4 for
/// a loop that adds one by one.
template <class T>
expected_entry expected_sum(const call& it, std::uint64_t seed) {
  long double total = 0;
  constexpr std::int64_t lanes = values_per_block<T>;
  for (std::int64_t block = 0; block * lanes < it.n; ++block) {
    const philox_block words = philox4x32_10(seed, 0, static_cast<std::uint64_t>(block));
    long double partial = 0;
    for (std::int64_t lane = 0; lane < std::min(lanes, it.n - block * lanes); ++lane) {
      partial += static_cast<long double>(value_in<T>(words, static_cast<int>(lane)));
    }
    total += partial;
  }
  return {total, unit_roundoff<T> * static_cast<long double>(it.n + 8)};
}

/// The bound is the classical one: gamma_{k+2} times the sum of the products' magnitudes.
template <class T>
expected_entry expected_product(const call& it, std::uint64_t seed, std::int64_t index) {
  const std::int64_t row = index / it.n;
  const std::int64_t column = index % it.n;
  long double value = 0;
  long double magnitude = 0;
  for (std::int64_t l = 0; l < it.k; ++l) {
    const long double a = input<T>(seed, 0, it.trans_a ? l * it.m + row : row * it.k + l);
    const long double b = input<T>(seed, 1, it.trans_b ? column * it.k + l : l * it.n + column);
    value += a * b;
    magnitude += std::fabs(a * b);
  }
  const auto alpha = static_cast<long double>(static_cast<T>(it.alpha));
  const auto beta = static_cast<long double>(static_cast<T>(it.beta));
  const long double addend = it.beta == 0 ? 0 : beta * input<T>(seed, 2, index);
  const long double growth = unit_roundoff<T> * static_cast<long double>(it.k + 2);
  return {alpha * value + addend, growth / (1 - growth) * (std::fabs(alpha) * magnitude + std::fabs(addend))};
}

}  // namespace

double reference_cost(const operation& what, const call& extents) {
  if (what.shape == operation_shape::reduction) return 5.0 * static_cast<double>(extents.n);
  if (what.shape == operation_shape::product) return 100.0 * static_cast<double>(extents.k + 1);
  return 100;
}

template <class T>
expected_entry expected(const operation& what, const implementation& how, const call& it, std::uint64_t seed,
                        std::int64_t index) {
  if (what.shape == operation_shape::reduction) return expected_sum<T>(it, seed);
  if (what.shape == operation_shape::product) return expected_product<T>(it, seed, index);
  long double inputs[2] = {};
  for (int array = 0; array < what.inputs; ++array) {
    inputs[array] = input<T>(seed, static_cast<std::uint64_t>(array), index);
    if (what.positive_inputs) inputs[array] = std::fabs(inputs[array]);
  }
  call rounded = it;
  rounded.alpha = static_cast<double>(static_cast<T>(it.alpha));
  rounded.beta = static_cast<double>(static_cast<T>(it.beta));
  const long double value = what.exact(inputs, rounded);
  const long double scale = what.error_scale == nullptr ? value : what.error_scale(inputs, rounded);
  return {value, static_cast<long double>(how.ulps) * ulp<T>(scale)};
}

template expected_entry expected<float>(const operation&, const implementation&, const call&, std::uint64_t,
                                        std::int64_t);
template expected_entry expected<double>(const operation&, const implementation&, const call&, std::uint64_t,
                                         std::int64_t);

}  // namespace prumo::peers
