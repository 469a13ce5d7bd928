// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Pooling and pixels on a thread of a host, as loops over rows without divisions.

#include "fused/step_loop.hpp"
#include "host_layers.hpp"

namespace prumo::nets {
inline namespace PRUMO_INSTRUCTION_SET {

/// visit(image, channel) for all planes.
template <class C, class Visit>
[[gnu::always_inline]] inline void for_each_plane(const step_images<C>& images, int channels, const Visit& visit) {
  for (int image = 0; image < images.count; ++image) {
    for (int channel = 0; channel < channels; ++channel) visit(images.image(image), channel);
  }
}

template <class C>
void pool(const host_step_team&, const step_layer& it, const step_images<C>& images) {
  for_each_plane(images, it.out_channels, [&](C* memory, int channel) {
    const C* const x = memory + it.x.begin + channel * it.x.plane;
    for (int row = 0; row < it.out_height; ++row) {
      const window_range rows(row, it.filter_height, it.row_stride, it.row_padding, it.in_height);
      C* const y = memory + it.y.begin + channel * it.y.plane + row * it.y.pitch;
      for (int column = 0; column < it.out_width; ++column) {
        const window_range columns(column, it.filter_width, it.column_stride, it.column_padding, it.in_width);
        C result = x[rows.begin * it.x.pitch + columns.begin];
        if (it.kind == step_kind::average) result = 0;
        for (int i = rows.begin; i < rows.end; ++i) {
          for (int k = columns.begin; k < columns.end; ++k) {
            const C value = x[i * it.x.pitch + k];
            result = it.kind == step_kind::average ? result + value : prumo::maximum(result, value);
          }
        }
        if (it.kind == step_kind::average) {
          result /= static_cast<C>((rows.end - rows.begin) * (columns.end - columns.begin));
        }
        y[column] = result;
      }
    }
  });
}

template <class C>
void pool_backward_by_windows(const host_step_team&, const step_layer& it, const step_images<C>& images) {
  const int areas_down = (it.in_height + it.row_padding - 1) / it.row_stride + 1;
  const int areas_across = (it.in_width + it.column_padding - 1) / it.column_stride + 1;
  for_each_plane(images, it.in_channels, [&](C* memory, int channel) {
    for (int row = 0; row < areas_down; ++row) {
      for (int column = 0; column < areas_across; ++column) pool_backward_window(it, memory, channel, row, column);
    }
  });
}

/// The pixels of an image that comes next. With other images in between they lie in no near cache.
inline void ask_for_image(const host_step_team&, const std::uint8_t* pixels, int count) {
  constexpr int line = 64;
  for (int i = 0; i < count; i += line) __builtin_prefetch(pixels + i);
}

/// Pixels of one image become numbers.
template <class C>
void put_image(const host_step_team&, const step_layer& it, C* image, const std::uint8_t* pixels) {
  const bool has_gaps = it.x.pitch != it.in_width;
  const int rows = has_gaps ? it.in_height : 1, count = has_gaps ? it.in_width : it.in_height * it.in_width;
  for (int channel = 0; channel < it.in_channels; ++channel) {
    for (int row = 0; row < rows; ++row) {
      C* const to = image + it.x.begin + channel * it.x.plane + row * it.x.pitch;
      PRUMO_INDEPENDENT_ITERATIONS
      for (int i = 0; i < count; ++i) to[i] = pixel_value<C>(pixels[i]);
      pixels += count;
    }
  }
  if (it.unfolded_apart > 0) unfold(it, image);
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::nets
