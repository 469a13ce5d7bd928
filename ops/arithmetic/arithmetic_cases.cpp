// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arithmetic_formulas.hpp"
#include <prumo/arithmetic.hpp>
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>

#include <cmath>
#include <string_view>

namespace prumo::cases {
namespace {

template <class Exec>
struct add_case final : elementwise_case<add_case<Exec>, Exec, 2> {
  static constexpr double ulps = 0.5;
  static constexpr flop_counts per_element() { return one(flop_kind::add); }
  case_info info() const override { return add_case::elementwise_info("add", "z = x + y"); }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y, const array_ref& z) {
    add(space, x, y, z);
  }
  template <class C>
  static add_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return x[0] + x[1]; }
};

template <class Exec>
struct mul_case final : elementwise_case<mul_case<Exec>, Exec, 2> {
  static constexpr double ulps = 0.5;
  static constexpr flop_counts per_element() { return one(flop_kind::mul); }
  case_info info() const override { return mul_case::elementwise_info("mul", "z = x * y, element by element"); }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y, const array_ref& z) {
    mul(space, x, y, z);
  }
  template <class C>
  static mul_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return x[0] * x[1]; }
};

template <class Exec>
struct scale_case final : elementwise_case<scale_case<Exec>, Exec, 1> {
  static constexpr double ulps = 0.5;
  static constexpr flop_counts per_element() { return one(flop_kind::mul); }
  case_info info() const override {
    case_info result = scale_case::elementwise_info("scale", "y = alpha x");
    result.values = {{"alpha", "the factor", 2.5}};
    return result;
  }

  static void call(instance_ref space, const parameters& values, const array_ref& x, const array_ref& y) {
    scale(space, values.at("alpha"), x, y);
  }
  template <class C>
  static scale_formula<C> formula(const parameters& values) {
    return {C(static_cast<plain_scalar_t<C>>(values.at("alpha")))};
  }
  static long double exact(const long double* x, const specification& choice) {
    return as_computed(choice.type, choice.values.at("alpha")) * x[0];
  }
};

template <class Exec>
struct axpby_case final : elementwise_case<axpby_case<Exec>, Exec, 2> {
  static std::size_t inputs_read(const parameters& values) {
    return (values.at("alpha") != 0 ? 1u : 0u) + (values.at("beta") != 0 ? 1u : 0u);
  }
  static flop_counts per_element(const parameters& values) {
    flop_counts counts;
    const std::size_t read = inputs_read(values);
    counts[flop_kind::mul] = read > 0 ? 1 : 0;
    counts[flop_kind::fma] = read > 1 ? 1 : 0;
    return counts;
  }
  case_info info() const override {
    case_info result = axpby_case::elementwise_info("axpby", "z = alpha x + beta y");
    result.values = {{"alpha", "the factor of x; 0 never reads x", 2.5},
                     {"beta", "the factor of y; 0 never reads y", -1.5}};
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters& values, const array_ref& x, const array_ref& y,
                   const array_ref& z) {
    axpby(space, values.at("alpha"), x, values.at("beta"), y, z);
  }
  static flop_counts count_call(const specification& choice) {
    const auto factor = [&]<class C>(std::string_view name) {
      return C(static_cast<plain_scalar_t<C>>(choice.values.at(name)));
    };
    switch (inputs_read(choice.values)) {
      case 0: return {};  // a fill
      case 1:
        return axpby_case::template count_formula<1>(choice, [&]<class C>(C) {
          return scale_formula<C>{factor.template operator()<C>(choice.values.at("alpha") != 0 ? "alpha" : "beta")};
        });
      default:
        return axpby_case::template count_formula<2>(choice, [&]<class C>(C) {
          return axpby_formula<C>{factor.template operator()<C>("alpha"), factor.template operator()<C>("beta")};
        });
    }
  }
  static long double exact(const long double* x, const specification& choice) {
    const long double alpha = as_computed(choice.type, choice.values.at("alpha"));
    const long double beta = as_computed(choice.type, choice.values.at("beta"));
    return alpha * x[0] + beta * x[1];
  }
  /// Each product is rounded once at most, and the sum: gamma_2 (|alpha x| + |beta y|), fused or not.
  static long double bound(const long double* x, const specification& choice, long double exact) {
    const long double alpha = as_computed(choice.type, choice.values.at("alpha"));
    const long double beta = as_computed(choice.type, choice.values.at("beta"));
    const long double size = std::fabs(alpha * x[0]) + std::fabs(beta * x[1]);
    return stored_bound(choice.type, exact, gamma(compute_type(choice.type), 2) * size);
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(arithmetic, prumo::cases::add_case, prumo::cases::mul_case, prumo::cases::scale_case,
                     prumo::cases::axpby_case)
