// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The step between a double and a type of 16 bits.

#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::detail {

/// A float from which rounding to f16 or bf16 gives what rounding the double itself would: to odd, that is, truncated,
/// with the last bit set where anything was lost. Rounded to nearest, the float could be a tie that the double is not
/// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Comput. 57, 2008).
KOKKOS_FORCEINLINE_FUNCTION float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto widened = static_cast<double>(nearest);
  auto bits = bit_cast<std::uint32_t>(nearest);
  bits -= Kokkos::fabs(widened) > Kokkos::fabs(value) ? 1u : 0u;
  bits |= widened != value ? 1u : 0u;
  return bit_cast<float>(bits);
}

}  // namespace prumo::detail
