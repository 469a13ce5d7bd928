// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference.hpp"

#include "philox.hpp"

#include <algorithm>
#include <cmath>

namespace prumo::peers {
namespace {

/// A parameter as the computation sees it.
double as_computed(dtype type, double value) {
  return type == dtype::f64 ? value : static_cast<double>(static_cast<float>(value));
}

}  // namespace

reference::reference(const operation& what, const implementation& how, dtype type, const call& extents,
                     std::uint64_t seed)
    : what_(what), how_(how), type_(type), it_(extents), seed_(seed) {
  it_.alpha = as_computed(type, extents.alpha);
  it_.beta = as_computed(type, extents.beta);
}

double reference::cost_of_neighbour() const { return what_.shape == operation_shape::rows ? 300 : cost_alone(); }

double reference::cost_alone() const {
  switch (what_.shape) {
    case operation_shape::reduction:
    case operation_shape::row_reduction: return 100 + 5.0 * static_cast<double>(it_.n);
    case operation_shape::rows: return 300 + 100.0 * static_cast<double>(it_.n);
    case operation_shape::product: return 100.0 * static_cast<double>(it_.k + 1);
    case operation_shape::convolution:
    case operation_shape::pooling:
    case operation_shape::dense: return layer_cost();
    default: return 100;
  }
}

expected_entry reference::at(std::int64_t index) {
  switch (what_.shape) {
    case operation_shape::elementwise: return elementwise(index);
    case operation_shape::transposition: return {input(0, index % it_.m * it_.n + index / it_.m), 0};
    case operation_shape::reduction: return reduced(0, it_.n);
    case operation_shape::row_reduction: return reduced(index * it_.n, it_.n);
    case operation_shape::rows: return softmax(index);
    case operation_shape::convolution: return convolution(index);
    case operation_shape::pooling: return pooled(index);
    case operation_shape::dense: return dense(index);
    case operation_shape::product: break;
  }
  return product(index);
}

long double reference::input(std::uint64_t array, std::int64_t index) const {
  return with_type(type_, [&]<class T>(T) {
    return static_cast<long double>(uniform<T>(seed_, array, static_cast<std::uint64_t>(index)));
  });
}

/// Elements of the first input one after the other.
template <class Take>
void reference::for_each_input(std::int64_t begin, std::int64_t count, const Take& take) const {
  with_type(type_, [&]<class T>(T) {
    constexpr std::int64_t lanes = values_per_block<T>;
    philox_block words{};
    for (std::int64_t index = begin; index < begin + count; ++index) {
      if (index == begin || index % lanes == 0) {
        words = philox4x32_10(seed_, 0, static_cast<std::uint64_t>(index / lanes));
      }
      take(static_cast<long double>(value_in<T>(words, static_cast<int>(index % lanes))));
    }
  });
}

expected_entry reference::elementwise(std::int64_t index) const {
  long double inputs[2] = {};
  for (int array = 0; array < what_.inputs; ++array) {
    inputs[array] = input(static_cast<std::uint64_t>(array), index);
    if (what_.positive_inputs) inputs[array] = std::fabs(inputs[array]);
  }
  const long double value = what_.exact(inputs, it_);
  if (what_.output_type) {  // rounded once, where the type lacks the digits or the range
    const number_format target = format_of(*what_.output_type);
    const bool has_room =
        format_of(type_).digits <= target.digits && std::fabs(value) >= std::ldexp(1.0L, target.smallest);
    return {value, has_room ? 0 : ulp(*what_.output_type, value) / 2};
  }
  const long double scale = what_.error_scale == nullptr ? value : what_.error_scale(inputs, it_);
  const long double bound = how_.ulps * ulp(compute_type(type_), scale) + how_.absolute;
  return {value, stored_bound(type_, value, bound)};
}

/// The bound of a sum. An addition with the result s has an error of at most u |s|. The numbers are independent, with a
/// mean of 0 and a variance of 1/3. The squares of the partial sums of n numbers add up to n^2 / 6 on average if the
/// numbers are added one by one, and to less in any other order. Errors of random sign pass 8 standard deviations,
/// 8 u sqrt(sum s^2), once in 10^13 sums (Hoeffding). With four times the average for the sum of squares, this is 7 n
/// u. For few numbers gamma_n sum |x| is the smaller bound.
expected_entry reference::reduced(std::int64_t begin, std::int64_t count) const {
  const dtype computed = compute_type(type_);
  long double total = 0;
  long double magnitude = 0;
  long double largest = -1;
  long double smallest = 1;
  const bool squares = what_.reduces_by == reduction_kind::sum_of_squares;
  for_each_input(begin, count, [&](long double x) {
    const long double term = squares ? x * x : x;
    total += term;
    magnitude += std::fabs(term);
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
  });
  switch (what_.reduces_by) {
    case reduction_kind::max: return {largest, 0};
    case reduction_kind::min: return {smallest, 0};
    // The terms have one sign: each square is rounded, then come the additions in whatever order.
    case reduction_kind::sum_of_squares:
      return {total, stored_bound(type_, total, summation_growth(computed, count + 1) * total)};
    default: break;
  }
  const auto n = static_cast<long double>(count);
  long double bound = std::min(7 * n * unit_roundoff(computed), gamma(computed, n) * magnitude);
  if (what_.reduces_by == reduction_kind::mean) {
    total /= n;  // n, its reciprocal perhaps, and the quotient or product are rounded
    bound = bound / n + gamma(computed, 3) * (std::fabs(total) + bound / n);
  }
  return {total, stored_bound(type_, total, bound)};
}

/// The bound of softmax. x - max is rounded once, and exp makes a relative error of u |x - max| of that. exp itself
/// adds `ulps` units in the last place, 2 `ulps` u. Each term of the sum has these errors too, at most those of the
/// largest distance, and the additions have their own. The quotient is rounded twice more.
///
/// The bound of log_softmax. The logarithm is within `ulps`. x - max and the last difference are rounded. An
/// implementation may subtract max + log(total) in one step; it rounds that sum instead, whose error is no larger,
/// because max is below 1.
expected_entry reference::softmax(std::int64_t index) {
  const std::int64_t row = index / it_.n;
  if (row != cached_.row) {
    cached_ = {row, -1, 0, 0};
    long double smallest = 1;
    for_each_input(row * it_.n, it_.n, [&](long double x) {
      cached_.largest = std::max(cached_.largest, x);
      smallest = std::min(smallest, x);
    });
    cached_.spread = cached_.largest - smallest;
    for_each_input(row * it_.n, it_.n, [&](long double x) { cached_.total += std::exp(x - cached_.largest); });
  }
  const dtype computed = compute_type(type_);
  const long double u = unit_roundoff(computed);
  const long double of_function = 2 * static_cast<long double>(how_.ulps);
  const long double distance = cached_.largest - input(0, index);
  const long double of_total = u * (cached_.spread + of_function) + summation_growth(computed, it_.n);
  if (!what_.logarithm) {
    const long double value = std::exp(-distance) / cached_.total;
    return {value, stored_bound(type_, value, value * (u * (distance + of_function) + of_total + 2 * u))};
  }
  const long double logarithm = std::log(cached_.total);
  const long double value = -distance - logarithm;
  const long double rounded = distance + of_function * logarithm + 2 * (1 + logarithm) + std::fabs(value);
  return {value, stored_bound(type_, value, of_total + u * rounded)};
}

/// The bound: every product reaches C through k additions at most, its own rounding, and those of alpha and beta: the
/// error is below gamma_{k+3} (|alpha| |A| |B| + |beta C|), in any order (Higham 2002, section 3.5).
expected_entry reference::product(std::int64_t index) const {
  const std::int64_t row = index / it_.n;
  const std::int64_t column = index % it_.n;
  const auto alpha = static_cast<long double>(it_.alpha);
  long double value = it_.beta == 0 ? 0 : static_cast<long double>(it_.beta) * input(2, index);
  long double magnitude = std::fabs(value);
  for (std::int64_t l = 0; l < it_.k; ++l) {
    const long double a = input(0, it_.trans_a ? l * it_.m + row : row * it_.k + l);
    const long double b = input(1, it_.trans_b ? column * it_.k + l : l * it_.n + column);
    value += alpha * a * b;
    magnitude += std::fabs(alpha * a * b);
  }
  const long double growth = gamma(compute_type(type_), static_cast<long double>(it_.k + 3));
  return {value, stored_bound(type_, value, growth * magnitude)};
}

}  // namespace prumo::peers
