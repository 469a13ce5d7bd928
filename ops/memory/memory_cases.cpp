// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory_formulas.hpp"
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/memory.hpp>

namespace prumo::cases {
namespace {

template <class Exec>
struct fill_case final : elementwise_case<fill_case<Exec>, Exec, 0> {
  static constexpr double ulps = 0;
  static constexpr flop_counts per_element() { return {}; }
  case_info info() const override {
    case_info result = fill_case::elementwise_info("fill", "y = value");
    result.values = {{"value", "the value", 0.75}};
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters& values, const array_ref& y) {
    fill(space, values.at("value"), y);
  }
  template <class C>
  static fill_formula<C> formula(const parameters& values) {
    return {C(static_cast<plain_scalar_t<C>>(values.at("value")))};
  }
  static long double exact(const long double*, const specification& choice) {
    return as_computed(choice.type, choice.values.at("value"));
  }
};

template <class Exec>
struct copy_case final : elementwise_case<copy_case<Exec>, Exec, 1> {
  static constexpr double ulps = 0;
  static constexpr flop_counts per_element() { return {}; }
  case_info info() const override {
    case_info result = copy_case::elementwise_info("copy", "y = x");
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { copy(space, x, y); }
  template <class C>
  static copy_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return x[0]; }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(memory, prumo::cases::fill_case, prumo::cases::copy_case)
