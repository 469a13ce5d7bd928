// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimizer_case.hpp"
#include <prumo/case/registry.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace prumo::cases {
namespace {

/// Half a unit in the last place, and what the reference's own rounding is off.
long double half_ulp(dtype type, long double value) {
  return ulp(type, value) / 2 + std::fabs(value) * std::numeric_limits<long double>::epsilon();
}

template <class Exec>
struct sgd_case final : optimizer_case<sgd_case<Exec>, Exec> {
  static constexpr std::array<const char*, 1> numbers = {"rate"};
  static constexpr std::array<const char*, 1> state = {"weights"};

  case_info info() const override { return sgd_case::optimizer_info("sgd", "weights = weights - rate gradients"); }
  static flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::fma] = 1;
    return counts;
  }
  template <class C>
  static sgd_formula<C> formula(const specification&) {
    return {C(0.5f)};
  }
  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    sgd(instance_ref(ctx), arrays[0], arrays[1], arrays[2]);
  }

  /// Everything is rounded once.
  struct exact_step {
    long double rate;
    dtype type;
    exact_step(const specification& choice, const input_values& inputs)
        : rate(as_computed(choice.type, sgd_case::number(inputs, 0))), type(compute_type(choice.type)) {}
    auto results(const long double* x) const {
      const long double weight = std::fma(-rate, x[0], x[1]);
      return std::vector<typename sgd_case::result_entry>{{weight, half_ulp(type, weight)}};
    }
  };
};

template <class Exec>
struct momentum_case final : optimizer_case<momentum_case<Exec>, Exec> {
  static constexpr std::array<const char*, 1> numbers = {"rate"};
  static constexpr std::array<const char*, 2> state = {"velocity", "weights"};

  case_info info() const override {
    case_info result = momentum_case::optimizer_info(
        "momentum", "velocity = decay velocity + gradients; weights = weights - rate velocity");
    result.values = {{"decay", "what is left of a velocity after a step", 0.9, nullptr, {0, 1, -0.75}}};
    return result;
  }
  std::string why_invalid(const specification& choice) const override {
    return choice.values.at("decay") < 0 ? "the decay is negative" : "";
  }
  static flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::fma] = 2;
    return counts;
  }
  template <class C>
  static momentum_formula<C> formula(const specification& choice) {
    return {C(0.5f), C(choice.values.at("decay"))};
  }
  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    momentum(instance_ref(ctx), arrays[0], choice.values.at("decay"), arrays[1], arrays[2], arrays[3]);
  }

  /// The velocity is rounded once, by half a unit in its last place. The weight has rate times this error, and is
  /// rounded once more.
  struct exact_step {
    long double rate, decay;
    dtype type;
    exact_step(const specification& choice, const input_values& inputs)
        : rate(as_computed(choice.type, momentum_case::number(inputs, 0))),
          decay(as_computed(choice.type, choice.values.at("decay"))),
          type(compute_type(choice.type)) {}
    auto results(const long double* x) const {
      const long double velocity = std::fma(decay, x[1], x[0]), of_velocity = half_ulp(type, velocity);
      const long double weight = std::fma(-rate, velocity, x[2]), handed_on = rate * of_velocity;
      return std::vector<typename momentum_case::result_entry>{
          {velocity, of_velocity}, {weight, handed_on + half_ulp(type, std::fabs(weight) + handed_on)}};
    }
  };
};

template <class Exec>
struct adam_case final : optimizer_case<adam_case<Exec>, Exec> {
  static constexpr std::array<const char*, 2> numbers = {"rate", "step"};
  static constexpr std::array<const char*, 3> state = {"mean", "square", "weights"};

  static adam_options options_of(const specification& choice) {
    return {choice.values.at("beta1"), choice.values.at("beta2"), choice.values.at("epsilon")};
  }
  static bool is_valid(const adam_options& options) {
    return options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 && options.beta2 < 1 && options.epsilon > 0;
  }

  case_info info() const override {
    case_info result = adam_case::optimizer_info("adam", "a step of Adam");
    result.values = {{"beta1", "the decay of the mean", 0.9, nullptr, {0, 0.5, 1}},
                     {"beta2", "the decay of the square", 0.999, nullptr, {0, 0.5, 1}},
                     {"epsilon", "what is added to the root of the square", 1e-8, nullptr, {1e-3, 0, -0.75}}};
    return result;
  }
  std::string why_invalid(const specification& choice) const override {
    return is_valid(options_of(choice)) ? "" : "a beta is not in [0, 1), or epsilon is not positive";
  }
  static flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::fma] = 4;
    counts[flop_kind::mul] = 3;
    counts[flop_kind::sqrt] = counts[flop_kind::div] = 1;
    return counts;
  }
  template <class C>
  static adam_formula<C> formula(const specification& choice) {
    using T = plain_scalar_t<C>;
    const adam_formula<T> plain = adam_formula_of<T>(adam_constants::of(options_of(choice)), 0.5, 1);
    return {plain.beta1, plain.rest1, plain.beta2, plain.rest2, plain.step_size, plain.root_factor, plain.epsilon};
  }
  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    adam(instance_ref(ctx), arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5], options_of(choice));
  }

  /// The betas, 1 - beta and epsilon are as the kernel has them. Let u be the unit roundoff of the compute type.
  ///
  /// - The mean rounds a product and the multiply-add.
  /// - The square rounds two products and the multiply-add: 3 u at most, because all terms are positive.
  /// - Its root halves that and rounds: 2.5 u. The denominator has that, its own rounding, and what the factor is off.
  /// - The quotient has the mean's error over the denominator, and u of its own; the step size is rounded, too.
  /// - 1 - beta^step in f64, of unit roundoff v: log(beta) and its product with step round once each, the exponential
  ///   has two units in the last place, 4 v, and the difference rounds. So its relative error is
  ///   (beta^step (2 v |step log(beta)| + 4 v)) / (1 - beta^step) + v. In the compute type it is rounded. The step size
  ///   rounds the rate and the quotient, too, and the factor the root and the quotient: 3 u each.
  struct exact_step {
    long double beta1, rest1, beta2, rest2, epsilon, step_size, root_factor;
    long double of_step_size, of_root_factor;  ///< relative errors
    dtype type;

    exact_step(const specification& choice, const input_values& inputs) : type(compute_type(choice.type)) {
      const adam_options options = options_of(choice);
      const auto rate = static_cast<long double>(adam_case::number(inputs, 0));
      const auto step = static_cast<long double>(adam_case::number(inputs, 1));
      beta1 = as_computed(choice.type, options.beta1);
      rest1 = as_computed(choice.type, 1 - options.beta1);
      beta2 = as_computed(choice.type, options.beta2);
      rest2 = as_computed(choice.type, 1 - options.beta2);
      epsilon = as_computed(choice.type, options.epsilon);
      const long double u = unit_roundoff(type);
      const auto [left1, error1] = left_of(options.beta1, step);
      const auto [left2, error2] = left_of(options.beta2, step);
      step_size = rate / left1;
      of_step_size = (error1 + 3 * u) * (1 + 8 * (error1 + u));
      root_factor = 1 / std::sqrt(left2);
      of_root_factor = (error2 + 3 * u) * (1 + 8 * (error2 + u));
    }

    /// 1 - beta^step, and the relative error of what is computed of it.
    static std::pair<long double, long double> left_of(double beta, long double step) {
      const long double v = unit_roundoff(dtype::f64);
      if (beta == 0) return {1.0L, v};
      const long double exponent = step * std::log(static_cast<long double>(beta));
      const long double left = -std::expm1(exponent);
      return {left, std::exp(exponent) * v * (2 * std::fabs(exponent) + 4) / left + v};
    }

    auto results(const long double* x) const {
      const long double u = unit_roundoff(type);
      const long double gradient = x[0], square_before = std::fabs(x[2]);
      const long double mean = beta1 * x[1] + rest1 * gradient;
      const long double of_product = std::fabs(rest1 * gradient) * u;
      const long double of_mean = of_product + (std::fabs(mean) + of_product) * u;
      const long double square = beta2 * square_before + rest2 * gradient * gradient;
      const long double of_square = square * gamma(type, 3);
      const long double denominator = std::sqrt(square) * root_factor + epsilon;
      const long double of_denominator = gamma(type, 4) + of_root_factor;  // relative, 1.5 + 1 + 1 roundings
      const long double quotient = mean / denominator;
      const long double of_quotient =
          of_mean / denominator + std::fabs(quotient) * (of_denominator + u) * (1 + 8 * (of_denominator + u));
      const long double change = step_size * quotient;
      const long double of_change = step_size * of_quotient * (1 + of_step_size) + std::fabs(change) * of_step_size;
      const long double weight = x[3] - change;
      return std::vector<typename adam_case::result_entry>{
          {mean, of_mean}, {square, of_square}, {weight, of_change + (std::fabs(weight) + of_change) * u}};
    }
  };
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(optimizer, prumo::cases::sgd_case, prumo::cases::momentum_case, prumo::cases::adam_case)
