// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "activation_backward_formulas.hpp"
#include "activation_formulas.hpp"
#include <prumo/activation.hpp>
#include <prumo/activation_backward.hpp>
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prumo::cases {
namespace {

template <class Exec>
struct sigmoid_case final : elementwise_case<sigmoid_case<Exec>, Exec, 1> {
  static constexpr double ulps = 3;
  static constexpr flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::exp] = counts[flop_kind::add] = counts[flop_kind::div] = counts[flop_kind::compare] = 1;
    return counts;
  }
  case_info info() const override { return sigmoid_case::elementwise_info("sigmoid", "y = 1 / (1 + exp(-x))"); }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) {
    sigmoid(space, x, y);
  }
  template <class C>
  static sigmoid_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return 1 / (1 + std::exp(-x[0])); }
};

template <class Exec>
struct tanh_case final : elementwise_case<tanh_case<Exec>, Exec, 1> {
  static constexpr double ulps = 2;
  static constexpr flop_counts per_element() { return one(flop_kind::tanh); }
  case_info info() const override { return tanh_case::elementwise_info("tanh", "y = tanh(x)"); }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { tanh(space, x, y); }
  template <class C>
  static tanh_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return std::tanh(x[0]); }
};

template <class Exec>
struct relu_case final : elementwise_case<relu_case<Exec>, Exec, 1> {
  static constexpr double ulps = 0;
  static constexpr flop_counts per_element() { return one(flop_kind::minmax); }
  case_info info() const override {
    case_info result = relu_case::elementwise_info("relu", "y = max(x, 0)");
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { relu(space, x, y); }
  template <class C>
  static relu_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return std::max(x[0], 0.0L); }
};

template <class Exec>
struct gelu_case final : elementwise_case<gelu_case<Exec>, Exec, 1> {
  static bool by_tanh(const parameters& values) { return values.at("tanh") != 0; }

  static flop_counts per_element(const parameters& values) {
    flop_counts counts;
    counts[flop_kind::mul] = 3;
    counts[flop_kind::add] = 1;
    if (by_tanh(values)) {
      counts[flop_kind::fma] = counts[flop_kind::exp] = counts[flop_kind::div] = 1;
      counts[flop_kind::compare] = counts[flop_kind::minmax] = 1;
    } else {
      counts[flop_kind::erf] = 1;
    }
    return counts;
  }
  case_info info() const override {
    case_info result = gelu_case::elementwise_info("gelu", "y = x Phi(x), Phi of the normal distribution");
    result.values = {{"tanh", "1 for the approximation by tanh", 0}};
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters& values, const array_ref& x, const array_ref& y) {
    gelu(space, x, y, by_tanh(values) ? gelu_form::tanh : gelu_form::erf);
  }
  static flop_counts count_call(const specification& choice) {
    return by_tanh(choice.values)
               ? gelu_case::template count_formula<1>(choice, []<class C>(C) { return gelu_by_tanh_formula<C>{}; })
               : gelu_case::template count_formula<1>(choice, []<class C>(C) { return gelu_formula<C>{}; });
  }
  static long double exact(const long double* x, const specification& choice) {
    if (!by_tanh(choice.values)) return 0.5L * x[0] * std::erfc(-x[0] * std::numbers::sqrt2_v<long double> / 2);
    const long double inner =
        2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>) * x[0] * (1 + 0.044715L * x[0] * x[0]);
    return x[0] / (1 + std::exp(-inner));
  }
  /// Both factors of y Q(y) or x sigmoid(v) are within a few units in the last place, and the rest of |x| is rounded
  /// once more. So the error is at most 4 u |x|, where u is the unit roundoff; that is 2 epsilon |x|. docs/accuracy.md
  /// has the errors measured over all arguments.
  static long double bound(const long double* x, const specification& choice, long double exact) {
    return stored_bound(choice.type, exact, 4 * unit_roundoff(compute_type(choice.type)) * std::fabs(x[0]));
  }
};

/// The function of a choice; gelu for a number that no derivative belongs to.
activation_function function_of(const parameters& values) {
  const double number = values.at("function");
  for (const auto each : {activation_function::none, activation_function::relu, activation_function::sigmoid,
                          activation_function::tanh}) {
    if (number == static_cast<double>(each)) return each;
  }
  return activation_function::gelu;
}

template <class Exec>
struct activate_backward_case final : elementwise_case<activate_backward_case<Exec>, Exec, 2> {
  static flop_counts per_element(const parameters& values) {
    flop_counts counts;
    switch (function_of(values)) {
      case activation_function::relu: counts[flop_kind::compare] = 1; break;
      case activation_function::sigmoid:
        counts[flop_kind::add] = 1;
        counts[flop_kind::mul] = 2;
        break;
      case activation_function::tanh: counts[flop_kind::fma] = counts[flop_kind::mul] = 1; break;
      default: break;
    }
    return counts;
  }
  case_info info() const override {
    case_info result = activate_backward_case::elementwise_info("activate_backward",
                                                                "dx = dy act'(x), from the result y (x) and dy (y)");
    result.values = {{"function", "0 none, 1 relu, 2 sigmoid, 3 tanh", 2, nullptr, {0, 1, 3, 4}}};
    result.in_default_sweep = false;
    return result;
  }
  std::string why_invalid(const specification& choice) const override {
    return function_of(choice.values) == activation_function::gelu ? "the derivative does not follow from the result"
                                                                   : "";
  }

  static void call(instance_ref space, const parameters& values, const array_ref& y, const array_ref& dy,
                   const array_ref& dx) {
    activate_backward(space, function_of(values), y, dy, dx);
  }
  static flop_counts count_call(const specification& choice) {
    const auto count = [&](const auto& formula) {
      return activate_backward_case::template count_formula<2>(choice, formula);
    };
    switch (function_of(choice.values)) {
      case activation_function::relu: return count([]<class C>(C) { return relu_backward_formula<C>{}; });
      case activation_function::sigmoid: return count([]<class C>(C) { return sigmoid_backward_formula<C>{}; });
      case activation_function::tanh: return count([]<class C>(C) { return tanh_backward_formula<C>{}; });
      default: return count([]<class C>(C) { return none_backward_formula<C>{}; });
    }
  }
  static long double exact(const long double* x, const specification& choice) {
    switch (function_of(choice.values)) {
      case activation_function::relu: return x[0] > 0 ? x[1] : 0;
      case activation_function::sigmoid: return x[1] * x[0] * (1 - x[0]);
      case activation_function::tanh: return x[1] * (1 - x[0] * x[0]);
      default: return x[1];
    }
  }
  /// sigmoid rounds 1 - y and two products, tanh 1 - y^2 and a product.
  static long double bound(const long double*, const specification& choice, long double exact) {
    const auto function = function_of(choice.values);
    const double roundings = function == activation_function::sigmoid ? 3
                             : function == activation_function::tanh  ? 2
                                                                      : 0;
    return stored_bound(choice.type, exact, gamma(compute_type(choice.type), roundings) * std::fabs(exact));
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(activation, prumo::cases::sigmoid_case, prumo::cases::tanh_case, prumo::cases::relu_case,
                     prumo::cases::gelu_case, prumo::cases::activate_backward_case)
