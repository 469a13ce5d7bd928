// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The numbers behind <prumo/detail/host_math.hpp>. Coefficients: core/tools/fit_polynomials.py.

#include <prumo/types.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo::detail {

/// What the functions below need to know of a floating-point type.
template <class T>
struct math_constants;

template <>
struct math_constants<float> {
  using integer = std::int32_t;
  using word = std::uint32_t;
  static constexpr int significand_shift = 23;
  static constexpr integer exponent_bias = 127;
  static constexpr float rounding_magic = 0x1.8p23f;  // adding it leaves an integer in the low significand bits
  static constexpr float log2_e = 0x1.715476p0f;
  static constexpr float log2_e_low = 0x1.4ae0cp-26f;
  static constexpr float ln2 = 0x1.62e43p-1f;
  static constexpr float ln2_high = 0x1.62e4p-1f;  // 15 bits: its product with an exponent is exact
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float lowest_exp = -105.0f;  // below, exp is zero
  static constexpr float highest_exp = 90.0f;   // above, exp is infinite
  static constexpr int subnormal_shift = 64;    // multiplied by 2 to this power, results are normal numbers
  static constexpr float from_shifted = 0x1p-64f;
  static constexpr float twice_expm1_tail[] = {0x1p+1f,        0x1.555580p+0f, 0x1.554bc4p-1f,
                                               0x1.11dabcp-2f, 0x1.5ccc8cp-4f, 0x1.14413cp-5f};
  static constexpr word sqrt_half = 0x3f3504f3u;  // the bits of sqrt(1/2)
  static constexpr float log_tail[] = {0x1.55557ap-1f, 0x1.995e7ep-2f, 0x1.31e9dep-2f};
};

template <>
struct math_constants<double> {
  using integer = std::int64_t;
  using word = std::uint64_t;
  static constexpr int significand_shift = 52;
  static constexpr integer exponent_bias = 1023;
  static constexpr double rounding_magic = 0x1.8p52;
  static constexpr double log2_e = 0x1.71547652b82fep0;
  static constexpr double ln2 = 0x1.62e42fefa39efp-1;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits
  static constexpr double ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double lowest_exp = -746.0;
  static constexpr double highest_exp = 710.0;
  static constexpr int subnormal_shift = 128;
  static constexpr double from_shifted = 0x1p-128;
  static constexpr double twice_expm1_tail[] = {0x1.0000000000000p+1,  0x1.5555555555537p+0,  0x1.5555555557572p-1,
                                                0x1.11111110619a6p-2,  0x1.6c16c1a7675fep-4,  0x1.a019f5ff43f09p-6,
                                                0x1.a01b6df6c5ca1p-8,  0x1.71c185c1532fbp-10, 0x1.29590afc0cbd7p-12,
                                                0x1.971ecf3f06fb7p-15, 0x1.85f36baddd913p-17};
  static constexpr word sqrt_half = 0x3fe6a09e667f3bcdu;
  static constexpr double log_tail[] = {0x1.5555555555593p-1, 0x1.999999997f8f7p-2, 0x1.249249423a9f0p-2,
                                        0x1.c71c51c90ca3ep-3, 0x1.74664cfb3af5dp-3, 0x1.39a03a397ef21p-3,
                                        0x1.2f1552439d81ep-3};
};

// The coefficients of gelu(). They are values, because gelu() runs on devices, which cannot refer to the host's arrays.

/// exp(r) for |r| <= ln(2) / 2.
template <class T>
struct exp_series;

template <>
struct exp_series<float> {
  float coefficients[7] = {1.0f, 1.0f, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558eap-5f, 0x1.12394cp-7f, 0x1.6a26aep-10f};
};

template <>
struct exp_series<double> {
  double coefficients[12] = {1.0,
                             1.0,
                             0x1.0000000000009p-1,
                             0x1.55555555554fcp-3,
                             0x1.5555555550b7fp-5,
                             0x1.11111111278cdp-7,
                             0x1.6c16c1839f9dfp-10,
                             0x1.a01a012a633c2p-13,
                             0x1.a0199b4ea4776p-16,
                             0x1.71df26d459b32p-19,
                             0x1.28ac6c19bd290p-22,
                             0x1.ad7b21ea149aep-26};
};

/// The same polynomial with factor * x instead of x. The factor is a power of two, so no coefficient is rounded.
template <class Series>
KOKKOS_FORCEINLINE_FUNCTION constexpr Series with_argument_times(double factor, Series series) {
  double power = 1;
  for (auto& coefficient : series.coefficients) {
    coefficient *= static_cast<std::remove_reference_t<decltype(coefficient)>>(power);
    power *= factor;
  }
  return series;
}

/// The tail of the normal distribution, up to the argument from which on y Q(y) is zero.
template <class T>
struct normal_tail;

template <>
struct normal_tail<float> {
  float largest = 14.5f;
  float coefficients[10] = {0x1p-1f,        -0x1.188464p0f, 0x1.4ef9ccp0f,   -0x1.98e802p-1f, 0x1.40c346p-4f,
                            0x1.4528cap-3f, 0x1.a4e216p-6f, -0x1.2e81f8p-3f, 0x1.6660aep-4f,  -0x1.14c3f4p-6f};
};

template <>
struct normal_tail<double> {
  double largest = 39.0;
  double coefficients[22] = {0x1p-1,
                             -0x1.1884533d436fbp+0,
                             0x1.4ef759857faf2p+0,
                             -0x1.989d6b558945cp-1,
                             0x1.2e7c3797a834dp-4,
                             0x1.6e9bbce726124p-3,
                             -0x1.ecc2c0d7f37b5p-6,
                             -0x1.be7450e06180cp-5,
                             -0x1.11d23f3d94dcfp-12,
                             0x1.0d07d306cc664p-6,
                             0x1.69943676ab63ap-7,
                             -0x1.2f12280141e44p-6,
                             0x1.0101dcf80399cp-5,
                             -0x1.09b9af7323289p-4,
                             0x1.686f9818031aep-4,
                             -0x1.4fe263611a66ep-4,
                             0x1.883dac7be9bd0p-5,
                             -0x1.1c74dbb98bf39p-8,
                             -0x1.38553f800d4f7p-6,
                             0x1.0875a1ebb5ec2p-6,
                             -0x1.7b546d81b869ap-8,
                             0x1.acc1a84d571e9p-11};
};

}  // namespace prumo::detail
