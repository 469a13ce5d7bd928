// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a team of the gradient of filters on a device copies into its scratch memory.

#include "backward_problem.hpp"
#include "device_weights_tile.hpp"
#include "scratch_copies.hpp"
#include <prumo/detail/team_kernel.hpp>

#include <cstdint>
#include <type_traits>

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
      : convolution_geometry(problem), x(erased(problem.x)), dy(erased(problem.dy)), has_bias(problem.has_bias) {}

 private:
  template <class T>
  static image_array<const C> erased(const image_array<const T>& array) {
    return {reinterpret_cast<const C*>(array.data), array.image_stride, array.channel_stride, array.row_stride,
            array.column_stride};
  }
};

/// Rows of some channels of an image, and where they go.
struct copied_rows {
  std::int64_t channel_stride;
  std::int64_t row_stride;
  std::int64_t column_stride;
  int channels;
  int rows;       ///< that are copied
  int first_row;  ///< of the image; those outside of it are zero
  int height;     ///< of the image
  int width;
  int plane;  ///< elements from a channel to the next, where they go
  int pitch;
};

/// Copies the rows in packs of `Pack` neighbours, each a thread. Elements are converted on the way.
template <int Pack, class T, class C>
KOKKOS_FORCEINLINE_FUNCTION void copy_rows(const T* from, const copied_rows& what, C* to, int thread, int threads) {
  const int packs = what.width / Pack;
  const int row_step = threads / packs, pack_step = threads - row_step * packs;
  int row = thread / packs, pack = thread - row * packs, channel = 0;
  if (what.channels == 0) return;
  PRUMO_KEEP_LOOP
  while (true) {
    while (row >= what.rows) {
      row -= what.rows;
      if (++channel == what.channels) return;
    }
    const int source = what.first_row + row;
    C* const target = to + channel * what.plane + row * what.pitch + pack * Pack;
    if (source >= 0 && source < what.height) {
      const T* const at = from + channel * what.channel_stride + source * what.row_stride;
      if constexpr (Pack == 1) {
        copy_element_to_scratch<C>(at + pack * what.column_stride, true, target);
      } else {
        copy_pack_to_scratch<C, Pack>(at + pack * Pack, target);
      }
    } else {
      PRUMO_UNROLL
      for (int i = 0; i < Pack; ++i) target[i] = C(0);
    }
    row += row_step;
    pack += pack_step;
    if (pack >= packs) {
      pack -= packs;
      ++row;
    }
  }
}

/// Calls visit(pointer), where the pointer has the elements' type.
template <class C, class Visitor>
KOKKOS_FORCEINLINE_FUNCTION void with_elements_of(dtype type, const C* data, const Visitor& visit) {
  if constexpr (std::is_same_v<C, double>) {
    visit(data);
  } else {
    switch (type) {
      case dtype::f16: return visit(reinterpret_cast<const f16*>(data));
      case dtype::bf16: return visit(reinterpret_cast<const bf16*>(data));
      default: return visit(data);
    }
  }
}

/// Copies rows of elements of `type`, `pack` at once. `offset` is that of the first element.
template <class C>
KOKKOS_FORCEINLINE_FUNCTION void copy_rows_of(dtype type, const C* data, std::int64_t offset, int pack,
                                              const copied_rows& what, C* to, int thread, int threads) {
  constexpr int most = prumo::detail::device_pack_elements<C>;
  with_elements_of(type, data, [&](const auto* elements) {
    if (pack == most) {
      copy_rows<most>(elements + offset, what, to, thread, threads);
    } else if (most > 2 && pack == 2) {
      copy_rows<2>(elements + offset, what, to, thread, threads);
    } else {
      copy_rows<1>(elements + offset, what, to, thread, threads);
    }
  });
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
