// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "random_numbers_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/word.hpp>
#include <prumo/random_numbers.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

namespace prumo::detail {
namespace {

const std::string uniform_label = "prumo::random_uniform::numbers";
const std::string normal_label = "prumo::random_normal::numbers";

/// The largest value of T below `value`, which is finite.
template <class T>
T value_below(T value) {
  using bits = word_of<T>;
  const auto pattern = Kokkos::bit_cast<bits>(value);
  constexpr auto sign = static_cast<bits>(bits(1) << (8 * sizeof(T) - 1));
  // Magnitudes are ordered as their bits are.
  if (static_cast<bits>(pattern & ~sign) == 0) return Kokkos::bit_cast<T>(static_cast<bits>(sign | 1));
  return Kokkos::bit_cast<T>(static_cast<bits>((pattern & sign) == 0 ? pattern - 1 : pattern + 1));
}

}  // namespace

struct uniform_numbers {
  static constexpr double host_nanoseconds = 0.4;
  static const std::string& label() { return uniform_label; }

  template <class T>
  static uniform_formula<T> formula_for(const random_problem<T>& problem) {
    using C = compute_t<T>;
    const C low = static_cast<C>(T(problem.first));
    const C high = static_cast<C>(T(problem.second));
    if (!(low <= high) || !std::isfinite(high - low)) {
      throw argument_error(
          "prumo::random_uniform: low is " + std::to_string(problem.first) + " and high is " +
          std::to_string(problem.second) +
          "; expected are numbers of the type of y with low <= high and a difference that is one, too");
    }
    return {low, high - low, low == high ? low : static_cast<C>(value_below(T(high)))};
  }
};

struct normal_numbers {
  static constexpr double host_nanoseconds = 0.8;
  static const std::string& label() { return normal_label; }

  template <class T>
  static normal_formula<T> formula_for(const random_problem<T>& problem) {
    if (!std::isfinite(problem.first) || !std::isfinite(problem.second)) {
      throw argument_error("prumo::random_normal: the mean is " + std::to_string(problem.first) +
                           " and the deviation is " + std::to_string(problem.second) + "; expected are finite numbers");
    }
    return {problem.first, problem.second};
  }
};

namespace {

template <class Numbers, class Exec, class T>
void launch_random(const Exec& instance, const random_problem<T>& problem) {
  const auto formula = Numbers::formula_for(problem);
  using formula_type = std::remove_const_t<decltype(formula)>;
  if constexpr (is_host_space<Exec>) {
    const std::size_t footprint = static_cast<std::size_t>(problem.target.size()) * sizeof(T);
    const bool streaming = has_streaming_stores && should_stream(footprint, 0);
    const std::int64_t count = problem.target.size();
    constexpr double of_a_number = Numbers::host_nanoseconds * (sizeof(T) > sizeof(float) ? 2 : 1);
    launch_blocks(instance, Numbers::label(), random_host_kernel<T, formula_type>(problem, formula, streaming),
                  host_work::streaming<T>(count) + host_work::repeated(count, of_a_number));
  } else {
    launch_blocks(instance, Numbers::label(), random_device_kernel<T, formula_type>(problem, formula));
  }
}

template <class Numbers>
random_position run_random(std::string_view operation, const instance_ref& space, const random_position& position,
                           double first, double second, const array_ref& y) {
  check::arrays(operation, space, {{"y", y}}, {});
  check::same_scalar_type(operation, {{"y", y}});
  with_space_and_scalar(space.space(), y.type, [&]<class Exec, class T> {
    using C = compute_t<T>;
    launch_random<Numbers>(space.instance<Exec>(),
                           random_problem<T>{y, position, static_cast<C>(first), static_cast<C>(second)});
  });
  random_position next = position;
  next.offset += static_cast<std::uint64_t>(y.size());
  return next;
}

}  // namespace
}  // namespace prumo::detail

namespace prumo {

random_position random_uniform(instance_ref space, const random_position& position, double low, double high,
                               const array_ref& y) {
  return detail::run_random<detail::uniform_numbers>("prumo::random_uniform", space, position, low, high, y);
}

random_position random_normal(instance_ref space, const random_position& position, double mean, double deviation,
                              const array_ref& y) {
  return detail::run_random<detail::normal_numbers>("prumo::random_normal", space, position, mean, deviation, y);
}

}  // namespace prumo
