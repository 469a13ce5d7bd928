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
  static constexpr float least_scaled_exp = -132.4f;  // -191 ln 2: scaled up, this power of two has the bits of 0
  static constexpr float twice_expm1_tail[] = {0x1p+1f,        0x1.555580p+0f, 0x1.554bc4p-1f,
                                               0x1.11dabcp-2f, 0x1.5ccc8cp-4f, 0x1.14413cp-5f};
  static constexpr float half_tanh_bound = 4.6f;  // from here on tanh is 1 in 16 bits
  static constexpr float half_tanh_above[] = {0x1p+0f, 0x1.01d708p-3f, 0x1.4e5ca6p-9f, 0x1.6dcce2p-18f};
  static constexpr float half_tanh_below[] = {0x1p+0f, 0x1.d640ccp-2f, 0x1.6d4922p-6f, 0x1.6d5f9ap-13f};
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
  static constexpr double least_scaled_exp = -797.8;  // -1151 ln 2
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

/// exp(y^2/2) Q(y) as a quotient of two polynomials in y, where Q is the upper tail of the normal distribution. It
/// holds up to the argument from which on y Q(y) is zero. All coefficients are positive, so nothing cancels.
template <class T>
struct normal_tail;

template <>
struct normal_tail<float> {
  float largest = 14.5f;
  float numerator[5] = {0x1p-1f, 0x1.589ad4p-2f, 0x1.b0b2d8p-4f, 0x1.c6da06p-7f, 0x1.00587ep-22f};
  float denominator[5] = {1.0f, 0x1.788f72p0f, 0x1.c517b4p-1f, 0x1.0e8e64p-2f, 0x1.1d45d2p-5f};
};

template <>
struct normal_tail<double> {
  double largest = 39.0;
  double numerator[10] = {0x1p-1,
                          0x1.8af9693ed67c9p-1,
                          0x1.2d90536eb8182p-1,
                          0x1.248856ad89eb3p-2,
                          0x1.895e33d092e09p-4,
                          0x1.7a985b8bd5939p-6,
                          0x1.04b90e0fb8be9p-8,
                          0x1.f11e56cef0436p-12,
                          0x1.2bd0effab0804p-15,
                          0x1.61677152c1ab4p-20};
  double denominator[11] = {1.0,
                            0x1.2b9dc96ebc174p1,
                            0x1.45d7559f766cap1,
                            0x1.b2b40d38a854bp0,
                            0x1.8b176e2c4d90cp-1,
                            0x1.0088ea0dd0b4ap-2,
                            0x1.e42dff20bcf03p-5,
                            0x1.49b40c6a2fe55p-7,
                            0x1.38634ebb35252p-10,
                            0x1.77c38aa2b0923p-14,
                            0x1.baed235be305dp-19};
};

}  // namespace prumo::detail
