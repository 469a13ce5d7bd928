// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Divisions of indices in kernels.

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::detail {

/// Divides numbers below 2^31 by a number that is known at the launch, with a product and a shift. With
/// l = ceil(log2 d) and m = ceil(2^(31+l) / d), which has 32 bits, floor(n / d) = floor(n m / 2^(31+l)) (Granlund and
/// Montgomery, Division by invariant integers using multiplication, PLDI 1994, theorem 4.2 for N = 31).
class index_divider {
 public:
  index_divider() = default;
  /// An extent of 0 counts as 1, because nothing is ever divided by it.
  explicit index_divider(int extent) : shift_(31) {
    const int divisor = extent > 0 ? extent : 1;
    while ((std::int64_t{1} << (shift_ - 31)) < divisor) ++shift_;
    factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + static_cast<std::uint64_t>(divisor) - 1) /
                                         static_cast<std::uint64_t>(divisor));
  }

  KOKKOS_FORCEINLINE_FUNCTION int quotient(int number) const {
    return static_cast<int>((std::uint64_t{static_cast<std::uint32_t>(number)} * factor_) >> shift_);
  }

 private:
  std::uint32_t factor_ = 0;
  int shift_ = 0;
};

}  // namespace prumo::detail
