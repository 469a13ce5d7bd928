// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_epilogue_reference.hpp"

#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prumo::cases {

long double exactly_activated(activation_function function, long double x) {
  switch (function) {
    case activation_function::none: break;
    case activation_function::relu: return std::max(x, 0.0L);
    case activation_function::sigmoid: return 1 / (1 + std::exp(-x));
    case activation_function::tanh: return std::tanh(x);
    case activation_function::gelu: return 0.5L * x * std::erfc(-x * std::numbers::sqrt2_v<long double> / 2);
    case activation_function::gelu_by_tanh: {
      const long double slope = 2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>);
      return x / (1 + std::exp(-slope * x * (1 + 0.044715L * x * x)));
    }
  }
  return x;
}

long double activated_bound(activation_function function, dtype result_type, long double x, long double absolute) {
  const dtype computed = compute_type(result_type);
  const long double value = exactly_activated(function, x);
  const long double largest = std::fabs(x) + absolute;
  constexpr long double slope_of_gelu = 1.13L;
  const long double gelu = slope_of_gelu * absolute + 4 * unit_roundoff(computed) * largest;
  switch (function) {
    case activation_function::none:
    case activation_function::relu: break;
    case activation_function::sigmoid: return absolute / 4 + 3 * ulp(computed, value);
    case activation_function::tanh: return absolute + 2 * ulp(computed, value);
    case activation_function::gelu:
    case activation_function::gelu_by_tanh: return gelu;
  }
  return absolute;
}

}  // namespace prumo::cases
