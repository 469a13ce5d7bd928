// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/rounding.hpp>
#include <prumo/case/specification.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

struct format {
  int significand_bits;
  int lowest_exponent;  ///< of normal numbers: 2^lowest_exponent is the smallest
};

format format_of(dtype type) {
  switch (type) {
    case dtype::f64: return {53, -1022};
    case dtype::f16: return {11, -14};
    case dtype::bf16: return {8, -126};
    case dtype::f8_e4m3: return {4, -6};
    default: break;
  }
  return {24, -126};
}

}  // namespace

long double ulp(dtype type, long double value) {
  const format numbers = format_of(type);
  int exponent = numbers.lowest_exponent;
  if (value != 0 && std::isfinite(value)) exponent = std::max(exponent, std::ilogb(value));
  return std::ldexp(1.0L, exponent - numbers.significand_bits + 1);
}

dtype compute_type(dtype type) { return type == dtype::f64 ? dtype::f64 : dtype::f32; }

long double unit_roundoff(dtype type) { return std::ldexp(1.0L, -format_of(type).significand_bits); }

long double gamma(dtype type, double roundings) {
  return std::expm1(-static_cast<long double>(roundings) * std::log1p(-unit_roundoff(type)));
}

long double rounded_bound(dtype type, long double value, double ulps) {
  return stored_bound(type, value, static_cast<long double>(ulps) * ulp(compute_type(type), value));
}

long double stored_bound(dtype type, long double value, long double absolute) {
  if (compute_type(type) == type) return absolute;
  return absolute + ulp(type, std::fabs(value) + absolute) / 2;
}

long double as_computed(dtype type, double parameter) {
  if (compute_type(type) == dtype::f64) return static_cast<long double>(parameter);
  return static_cast<long double>(static_cast<float>(parameter));
}

}  // namespace prumo::cases
