// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The step between a double and a type of 16 bits.

#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::detail {

/// A float that rounds to the same f16 or bf16 as the double. It is rounded to odd: truncated, and its last bit is set
/// if anything was lost. If it were rounded to nearest, the float could be a tie although the double is none (Boldo and
/// Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Comput. 57, 2008).
KOKKOS_FORCEINLINE_FUNCTION float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto widened = static_cast<double>(nearest);
  auto bits = bit_cast<std::uint32_t>(nearest);
  bits -= Kokkos::fabs(widened) > Kokkos::fabs(value) ? 1u : 0u;
  bits |= widened != value ? 1u : 0u;
  return bit_cast<float>(bits);
}

}  // namespace prumo::detail
