// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "elementary_formulas.hpp"
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/elementary.hpp>

#include <cmath>

namespace prumo::cases {
namespace {

// The bounds are those of <prumo/math.hpp>. For exp, log and rsqrt they are wider, as GPU vendors promise for their
// functions.

template <class Exec>
struct exp_case final : elementwise_case<exp_case<Exec>, Exec, 1> {
  static constexpr double ulps = 2;
  static constexpr flop_counts per_element() { return one(flop_kind::exp); }
  case_info info() const override {
    case_info result = exp_case::elementwise_info("exp", "y = exp(x)");
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { exp(space, x, y); }
  template <class C>
  static exp_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return std::exp(x[0]); }
};

template <class Exec>
struct log_case final : elementwise_case<log_case<Exec>, Exec, 1> {
  static constexpr double ulps = 2;
  static constexpr input_domain domain = input_domain::positive;
  static constexpr flop_counts per_element() { return one(flop_kind::log); }
  case_info info() const override {
    case_info result = log_case::elementwise_info("log", "y = ln x, of x in (0, 1)");
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { log(space, x, y); }
  template <class C>
  static log_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return std::log(x[0]); }
};

template <class Exec>
struct sqrt_case final : elementwise_case<sqrt_case<Exec>, Exec, 1> {
  static constexpr double ulps = 0.5;
  static constexpr input_domain domain = input_domain::positive;
  static constexpr flop_counts per_element() { return one(flop_kind::sqrt); }
  case_info info() const override {
    case_info result = sqrt_case::elementwise_info("sqrt", "y = sqrt(x), of x in (0, 1)");
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { sqrt(space, x, y); }
  template <class C>
  static sqrt_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return std::sqrt(x[0]); }
};

template <class Exec>
struct rsqrt_case final : elementwise_case<rsqrt_case<Exec>, Exec, 1> {
  static constexpr double ulps = 2;
  static constexpr input_domain domain = input_domain::positive;
  static constexpr flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::sqrt] = counts[flop_kind::div] = 1;
    return counts;
  }
  case_info info() const override {
    case_info result = rsqrt_case::elementwise_info("rsqrt", "y = 1 / sqrt(x), of x in (0, 1)");
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) {
    rsqrt(space, x, y);
  }
  template <class C>
  static rsqrt_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return 1 / std::sqrt(x[0]); }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(elementary, prumo::cases::exp_case, prumo::cases::log_case, prumo::cases::sqrt_case,
                     prumo::cases::rsqrt_case)
