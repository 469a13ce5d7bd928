// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/arithmetic.hpp>
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>

namespace prumo::cases {
namespace {

constexpr flop_counts one(flop_kind kind) {
  flop_counts counts;
  counts[kind] = 1;
  return counts;
}

template <class Exec>
struct add_case final : elementwise_case<add_case<Exec>, Exec, 2> {
  static constexpr double ulps = 0.5;
  static constexpr flop_counts per_element() { return one(flop_kind::add); }
  case_info info() const override { return add_case::elementwise_info("add", "z = x + y"); }

  template <class T>
  static void call(context<Exec>& ctx, const parameters&, const auto& x, const auto& y, const auto& z) {
    add(ctx, x, y, z);
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

  template <class T>
  static void call(context<Exec>& ctx, const parameters&, const auto& x, const auto& y, const auto& z) {
    mul(ctx, x, y, z);
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

  template <class T>
  static void call(context<Exec>& ctx, const parameters& values, const auto& x, const auto& y) {
    scale(ctx, static_cast<compute_t<T>>(values.at("alpha")), x, y);
  }
  template <class C>
  static scale_formula<C> formula(const parameters& values) {
    return {C(static_cast<plain_scalar_t<C>>(values.at("alpha")))};
  }
  static long double exact(const long double* x, const specification& choice) {
    return as_computed(choice.type, choice.values.at("alpha")) * x[0];
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(arithmetic, prumo::cases::add_case, prumo::cases::mul_case, prumo::cases::scale_case)
