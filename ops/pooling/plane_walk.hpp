// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/detail/instruction_set.hpp>

#include <Kokkos_Macros.hpp>

#include <cstdint>
#include <limits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// How the threads of a device share out the places of all planes. Neighbouring threads take places that are neighbours
/// in memory: channels if they come last, and columns otherwise.
class plane_walk {
 public:
  struct position {
    std::int64_t image, channel, row, column;
  };

  plane_walk(std::int64_t images, std::int64_t channels, std::int64_t rows, std::int64_t columns, bool channels_last)
      : images_(images),
        channels_(channels),
        rows_(rows),
        columns_(columns),
        channels_last_(channels_last),
        is_short_(blocks() <= std::numeric_limits<std::uint32_t>::max()) {}

  std::int64_t blocks() const { return images_ * channels_ * rows_ * columns_; }

  KOKKOS_FORCEINLINE_FUNCTION position at(std::int64_t index) const {
    // A division of 64 bits would take as long as a window.
    return is_short_ ? split(static_cast<std::uint32_t>(index)) : split(static_cast<std::uint64_t>(index));
  }

 private:
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION position split(Index rest) const {
    position result{};
    if (channels_last_) result.channel = split_off(rest, channels_);
    result.column = split_off(rest, columns_);
    result.row = split_off(rest, rows_);
    if (!channels_last_) result.channel = split_off(rest, channels_);
    result.image = static_cast<std::int64_t>(rest);
    return result;
  }
  template <class Index>
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t split_off(Index& rest, std::int64_t extent) {
    const auto divisor = static_cast<Index>(extent);
    const Index quotient = rest / divisor;
    const auto place = static_cast<std::int64_t>(rest - quotient * divisor);
    rest = quotient;
    return place;
  }

  std::int64_t images_, channels_, rows_, columns_;
  bool channels_last_;
  bool is_short_;  ///< 32 bits hold every index
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
