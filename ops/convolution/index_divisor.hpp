// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {

/// Divides indices by a number that is known before a kernel starts: two instructions on a device, where a division
/// takes about twenty.
class index_divisor {
 public:
  /// Indices are smaller than this, and so is the divisor.
  static constexpr int most = 1 << 16;

  /// \param divisor from 1 to `most`
  explicit index_divisor(int divisor)
      : factor_(divisor == 1
                    ? 0
                    : static_cast<std::uint32_t>((std::uint64_t{1} << 32) / static_cast<unsigned>(divisor)) + 1),
        of_one_(divisor == 1 ? 1 : 0) {}

  /// The quotient, rounded down. With d the divisor, factor_ is (2^32 + e) / d with 0 < e <= d, so the product is too
  /// large by index * e / d < 2^16, less than a step of 2^32 / d.
  KOKKOS_FUNCTION int quotient(int index) const {
    const auto value = static_cast<std::uint32_t>(index);
    return static_cast<int>((std::uint64_t{value} * factor_ >> 32) + value * of_one_);
  }

 private:
  std::uint32_t factor_;
  std::uint32_t of_one_;
};

}  // namespace prumo::backend
