// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "convolution_problem.hpp"
#include <prumo/detail/instruction_set.hpp>

#include <Kokkos_Macros.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// weights[term][output channel], with zeros behind the last channel.
template <class C>
class weight_columns_kernel {
 public:
  weight_columns_kernel(const convolution_problem<C>& problem, int pitch, C* to)
      : w_(problem.w),
        taps_(static_cast<int>(problem.filter_rows * problem.filter_columns)),
        columns_(static_cast<int>(problem.filter_columns)),
        out_channels_(static_cast<int>(problem.out_channels)),
        pitch_(pitch),
        terms_(problem.taps()),
        to_(to) {}

  std::int64_t blocks() const { return terms_ * pitch_; }

  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    const std::int64_t term = at / pitch_;
    const int channel = static_cast<int>(at - term * pitch_);
    const std::int64_t input = term / taps_;
    const int tap = static_cast<int>(term - input * taps_), p = tap / columns_, q = tap - p * columns_;
    to_[at] = channel < out_channels_ ? w_.plane(channel, input)[p * w_.row_stride + q * w_.column_stride] : C(0);
  }

 private:
  image_array<const C> w_;
  int taps_;
  int columns_;
  int out_channels_;
  int pitch_;
  std::int64_t terms_;
  C* to_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
