// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A case's type is that of its inputs, so the target makes cases of their own: cast_f32, cast_f64, cast_f16, cast_bf16,
// each from every type.

#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/cast.hpp>
#include <prumo/memory.hpp>

#include <string>

namespace prumo::cases {
namespace {

/// What cast computes before it rounds.
template <class C>
struct unchanged_value {
  C operator()(C x) const { return x; }
};

template <class Exec, class To>
struct cast_case : elementwise_case<cast_case<Exec, To>, Exec, 1> {
  template <class>
  using output_of = To;

  static constexpr flop_counts per_element() { return {}; }
  case_info info() const override {
    const std::string target{scalar_traits<To>::name};
    case_info result = cast_case::elementwise_info("cast_" + target, "y = x in " + target);
    result.in_default_sweep = false;
    return result;
  }

  static void call(instance_ref space, const parameters&, const array_ref& x, const array_ref& y) { cast(space, x, y); }
  /// Conversions are no flops, whatever the type of the result.
  template <class C>
  static unchanged_value<C> formula(const parameters&) {
    return {};
  }
  static long double exact(const long double* x, const specification&) { return x[0]; }
  /// Rounded once, or not at all if the target has enough digits.
  static long double bound(const long double*, const specification& choice, long double exact) {
    const bool has_room = with_type(choice.type, []<class T>(T) {
      return scalar_traits<T>::significand_bits <= scalar_traits<To>::significand_bits;
    });
    // The smallest number of all cases, 2^-53, is far below the range of f16.
    const bool in_range = !std::is_same_v<To, f16> || std::fabs(exact) >= 0x1p-14L;
    return has_room && in_range ? 0 : ulp(scalar_traits<To>::type, exact) / 2;
  }
};

template <class Exec>
struct cast_to_f32_case : cast_case<Exec, float> {};
template <class Exec>
struct cast_to_f64_case : cast_case<Exec, double> {};
template <class Exec>
struct cast_to_f16_case : cast_case<Exec, f16> {};
template <class Exec>
struct cast_to_bf16_case : cast_case<Exec, bf16> {};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(cast, prumo::cases::cast_to_f32_case, prumo::cases::cast_to_f64_case,
                     prumo::cases::cast_to_f16_case, prumo::cases::cast_to_bf16_case)
