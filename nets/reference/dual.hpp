// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Numbers x + x' e with e^2 = 0: what is computed of them carries its derivative along.

#include <cmath>

namespace prumo::nets {

template <class N>
struct dual {
  N value = 0;
  N slope = 0;

  dual() = default;
  dual(N of_value, N of_slope = 0) : value(of_value), slope(of_slope) {}  // NOLINT(google-explicit-constructor)

  friend dual operator+(const dual& x, const dual& y) { return {x.value + y.value, x.slope + y.slope}; }
  friend dual operator-(const dual& x, const dual& y) { return {x.value - y.value, x.slope - y.slope}; }
  friend dual operator*(const dual& x, const dual& y) {
    return {x.value * y.value, x.slope * y.value + x.value * y.slope};
  }
  friend dual operator/(const dual& x, const dual& y) {
    const N quotient = x.value / y.value;
    return {quotient, (x.slope - quotient * y.slope) / y.value};
  }
  friend bool operator>(const dual& x, const dual& y) { return x.value > y.value; }

  friend dual exp(const dual& x) {
    const N result = std::exp(x.value);
    return {result, result * x.slope};
  }
  friend dual log(const dual& x) { return {std::log(x.value), x.slope / x.value}; }
  friend dual tanh(const dual& x) {
    const N result = std::tanh(x.value);
    return {result, (1 - result * result) * x.slope};
  }
};

}  // namespace prumo::nets
