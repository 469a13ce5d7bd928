// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// prumo::scale, with a hand count that is wrong: workers have to refuse to measure it.

#include <prumo/arithmetic.hpp>
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>

namespace prumo::cases {
namespace {

template <class C>
struct tripled {
  KOKKOS_FUNCTION C operator()(C x) const { return C(3) * x; }
};

template <class Exec>
struct wrong_count_case final : elementwise_case<wrong_count_case<Exec>, Exec, 1> {
  static constexpr double ulps = 0.5;
  static constexpr flop_counts per_element() {
    flop_counts counts;
    counts[flop_kind::mul] = 2;
    return counts;
  }
  case_info info() const override { return wrong_count_case::elementwise_info("wrong_count", "y = 3 x"); }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) {
    scale(space, 3, x, y);
  }
  template <class C>
  static tripled<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return 3 * x[0]; }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(wrong_count, prumo::cases::wrong_count_case)
