// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random_formulas.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/random_numbers.hpp>

#include <cmath>
#include <numbers>

namespace prumo::cases {
namespace {

/// The generator's number `index` for a type, made again: its word as a whole number, and that of its pair.
struct words_of_pair {
  int width;
  std::uint64_t first, second;

  words_of_pair(const specification& choice, std::int64_t index) : width(choice.type == dtype::f64 ? 64 : 32) {
    const std::int64_t per_block = width == 64 ? 2 : 4;
    const auto block = random::philox4x32_10(choice.seed, 0, static_cast<std::uint64_t>(index / per_block));
    const int lane = static_cast<int>(index % per_block) / 2 * 2;
    first = width == 64 ? prumo::detail::random_word<8>(block, lane) : prumo::detail::random_word<4>(block, lane);
    second =
        width == 64 ? prumo::detail::random_word<8>(block, lane + 1) : prumo::detail::random_word<4>(block, lane + 1);
  }
};

/// An array of n numbers. `Derived` gives info(), call(), entry(), and formula() with its count.
template <class Derived, class Exec>
class random_case_base : public operation_case<Exec> {
 public:
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_vector(this->info().op, type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"y", array_role::output, {extents.at("n")}}};
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto n = static_cast<double>(extents.at("n"));
    return {n * static_cast<double>(dtype_size(type)), Derived::flops_per_element * n, n};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    Derived::call(ctx, choice.values, random_position{choice.seed, 0, 0}, arrays[0]);
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return (extents.at("n") + part_elements - 1) / part_elements;
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 200.0 * static_cast<double>(std::min(extents.at("n"), part_elements));
  }

  void reference(const specification& choice, const input_values&, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t end = std::min(choice.shape.at("n"), (part + 1) * part_elements);
    for (std::int64_t index = part * part_elements; index < end; ++index) {
      const auto [value, bound] = Derived::entry(choice, words_of_pair(choice, index), index % 2 != 0);
      out.push_back({0, index, value, stored_bound(choice.type, value, bound)});
    }
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override {
    const std::int64_t per_block = choice.type == dtype::f64 ? 2 : 4;
    return Derived::count_of_pair(choice.type) *
           static_cast<std::uint64_t>((choice.shape.at("n") + per_block - 1) / per_block * (per_block / 2));
  }

 private:
  // Nothing but Derived may be built on it.
  random_case_base() = default;
  friend Derived;

  static constexpr std::int64_t part_elements = 4096;

  template <class T>
  static flop_counts count_with(const specification& choice) {
    constexpr std::int64_t per_block = random::values_per_block<T>;
    const auto formula = Derived::template formula<T, counted<T>>(choice.values);
    flop_counts counts;
    const counting_scope scope(counts);
    for (std::int64_t block = 0; block * per_block < choice.shape.at("n"); ++block) {
      counted<T> values[per_block];
      formula.values(random::philox4x32_10(choice.seed, 0, static_cast<std::uint64_t>(block)), values);
    }
    return counts;
  }
};

/// A parameter as a number of the type.
long double as_stored(dtype type, double value) {
  return with_type(type, [&]<class T>(T) {
    return static_cast<long double>(static_cast<compute_t<T>>(T(static_cast<compute_t<T>>(value))));
  });
}

template <class Exec>
struct random_uniform_case final : random_case_base<random_uniform_case<Exec>, Exec> {
  static constexpr double flops_per_element = 2;

  case_info info() const override {
    case_info result;
    result.op = "random_uniform";
    result.description = "y = uniform numbers, low <= y < high";
    result.axes = {{"n", "elements of y", 0}};
    result.values = {{"low", "the lowest number", -2}, {"high", "what all numbers are below", 3}};
    return result;
  }

  static void call(instance_ref space, const parameters& values, const random_position& position, const array_ref& y) {
    (void)random_uniform(space, position, values.at("low"), values.at("high"), y);
  }

  /// The difference of the limits, its product with the fraction, and the sum are rounded once each. A sum that would
  /// reach `high` becomes the number below it.
  static std::pair<long double, long double> entry(const specification& choice, const words_of_pair& words, bool odd) {
    const int bits = choice.type == dtype::f64   ? 53
                     : choice.type == dtype::f32 ? 24
                     : choice.type == dtype::f16 ? 11
                                                 : 8;
    const auto whole = static_cast<long double>((odd ? words.second : words.first) >> (words.width - bits));
    const long double low = as_stored(choice.type, choice.values.at("low"));
    const long double high = as_stored(choice.type, choice.values.at("high"));
    const long double scaled = (high - low) * std::ldexp(whole, -bits);
    const long double value = low + scaled;
    const long double u = unit_roundoff(compute_type(choice.type));
    const long double rounding = 2 * u * std::fabs(scaled) + u * (std::fabs(value) + 2 * u * std::fabs(scaled));
    const bool at_the_end = value + rounding + ulp(choice.type, value) / 2 >= high;
    return {value, rounding * (1 + 4 * u) + (at_the_end ? ulp(choice.type, high) : 0)};
  }

  template <class T, class C>
  static auto formula(const parameters& values) {
    const auto low = static_cast<T>(values.at("low")), high = static_cast<T>(values.at("high"));
    return prumo::detail::uniform_formula<T, C>{low, high - low, high};
  }
  static flop_counts count_of_pair(dtype) {
    flop_counts counts;
    counts[flop_kind::mul] = counts[flop_kind::add] = counts[flop_kind::minmax] = 2;
    return counts;
  }
};

template <class Exec>
struct random_normal_case final : random_case_base<random_normal_case<Exec>, Exec> {
  /// A pair is a logarithm, a square root, a sine and a cosine by polynomials of some 10 operations each, and 6 more.
  static constexpr double flops_per_element = 17;

  case_info info() const override {
    case_info result;
    result.op = "random_normal";
    result.description = "y = normal numbers";
    result.axes = {{"n", "elements of y", 0}};
    result.values = {{"mean", "their mean", 0.25}, {"deviation", "their standard deviation", 1.5}};
    return result;
  }

  static void call(instance_ref space, const parameters& values, const random_position& position, const array_ref& y) {
    (void)random_normal(space, position, values.at("mean"), values.at("deviation"), y);
  }

  /// With u the unit roundoff: the logarithm is within one unit in the last place, 2 u, which the root halves and
  /// rounds, 2 u; sine and cosine are within two units, 4 u, and their product with the root is rounded, u: 7 u |n|,
  /// and an eighth for what these add to one another. The scaled number and the sum with the mean are rounded once, or
  /// once each.
  static std::pair<long double, long double> entry(const specification& choice, const words_of_pair& words, bool odd) {
    const bool wide = words.width == 64;
    // u is rounded to the type as every backend does it.
    const long double fraction = wide ? static_cast<long double>(static_cast<double>(words.first) * 0x1p-64 + 0x1p-65)
                                      : static_cast<long double>(static_cast<float>(words.first) * 0x1p-32f + 0x1p-33f);
    const long double turn = std::ldexp(static_cast<long double>(words.second), -words.width);
    const long double angle = 2 * std::numbers::pi_v<long double> * turn;
    const long double number = std::sqrt(-2 * std::log(fraction)) * (odd ? std::sin(angle) : std::cos(angle));
    const long double deviation = as_computed(choice.type, choice.values.at("deviation"));
    const long double scaled = deviation * number;
    const long double value = as_computed(choice.type, choice.values.at("mean")) + scaled;
    const long double u = unit_roundoff(compute_type(choice.type));
    // An angle is rounded to the type after the quarter turns are taken off: at most u / 2 times an eighth of a turn.
    const long double of_angle =
        std::fabs(deviation) * std::sqrt(-2 * std::log(fraction)) * u * std::numbers::pi_v<long double> / 4;
    return {value, 9 * u * std::fabs(scaled) + of_angle + u * std::fabs(value)};
  }

  template <class T, class C>
  static auto formula(const parameters& values) {
    return prumo::detail::normal_formula<T, C>{static_cast<T>(values.at("mean")),
                                               static_cast<T>(values.at("deviation"))};
  }
  static flop_counts count_of_pair(dtype type) {
    const std::uint64_t degree_sum = type == dtype::f64 ? 12 : 6;  // of the two tails
    flop_counts counts;
    counts[flop_kind::log] = counts[flop_kind::sqrt] = 1;
    counts[flop_kind::fma] = degree_sum + 2 + 2;
    counts[flop_kind::mul] = 3 + 1 + 2;  // x^2, x^3, pi x; the root's argument; root times sine and cosine
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(random, prumo::cases::random_uniform_case, prumo::cases::random_normal_case)
