// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/activation.hpp>
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>

#include <cmath>

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

  template <class T>
  static void call(context<Exec>& ctx, const parameters&, const auto& x, const auto& y) {
    sigmoid(ctx, x, y);
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
  static constexpr flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::tanh] = 1;
    return counts;
  }
  case_info info() const override { return tanh_case::elementwise_info("tanh", "y = tanh(x)"); }

  template <class T>
  static void call(context<Exec>& ctx, const parameters&, const auto& x, const auto& y) {
    tanh(ctx, x, y);
  }
  template <class C>
  static tanh_formula<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return std::tanh(x[0]); }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(activation, prumo::cases::sigmoid_case, prumo::cases::tanh_case)
