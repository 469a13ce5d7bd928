// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the gradient of filters reads on a device.

#include "backward_problem.hpp"
#include "device_weights_tile.hpp"

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// What a kernel reads. The pointers are to elements of a type whose compute type is C.
template <class C>
struct weights_inputs : convolution_geometry {
  image_array<const C> x;
  image_array<const C> dy;
  bool has_bias = false;

  weights_inputs() = default;
  template <class T>
  explicit weights_inputs(const backward_weights_problem<T>& problem)
      : convolution_geometry(static_cast<const convolution_geometry&>(problem)),
        x(erased(problem.x)),
        dy(erased(problem.dy)),
        has_bias(problem.has_bias) {}

 private:
  template <class T>
  static image_array<const C> erased(const image_array<const T>& array) {
    return {reinterpret_cast<const C*>(array.data), array.image_stride, array.channel_stride, array.row_stride,
            array.column_stride};
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
