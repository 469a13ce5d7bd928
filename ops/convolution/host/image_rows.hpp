// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies of images' rows for kernels on hosts.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/number_runs.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The columns of an image by their remainders by a stride. Place j of phase p is column origin + j * step + p.
struct column_phases {
  std::int64_t origin;
  std::int64_t step;
  std::int64_t phases;
  std::int64_t places;       ///< of each phase
  std::int64_t whole_begin;  ///< of the places [whole_begin, whole_end) all phases lie inside the image
  std::int64_t whole_end;

  /// \param width of the image
  /// \param padding columns of zeros before it
  column_phases(std::int64_t width, std::int64_t padding, std::int64_t stride, std::int64_t count, std::int64_t of_each)
      : origin(-padding), step(stride), phases(count), places(of_each) {
    whole_begin = std::min(places, (padding + step - 1) / step);
    const std::int64_t last = width - phases - origin;
    whole_end = last < 0 ? whole_begin : std::clamp(last / step + 1, whole_begin, places);
  }
};

/// The rows of one channel of an image.
template <class T>
struct image_rows {
  const T* plane;
  std::int64_t height;
  std::int64_t width;
  std::int64_t row_stride;
  std::int64_t column_stride;

  /// Copies the rows first, first + row_step, ..., each as a row for every phase. What lies beside the image is zero.
  /// \param pitch from a copied row to the next
  /// \param distance from a phase to the next
  template <class C>
  void copy(std::int64_t first, std::int64_t row_step, std::int64_t count, const column_phases& columns, C* to,
            std::int64_t pitch, std::int64_t distance) const {
    const auto copy_all = [&]<int Step>(std::integral_constant<int, Step>) {
      // What a vector reads and writes behind the end of a row.
      constexpr std::int64_t lanes = simd<C>::lanes;
      const std::int64_t last_read =
          (height - 1) * row_stride + width - columns.origin - (columns.whole_begin + lanes) * (Step > 0 ? Step : 1);
      const std::int64_t last_written = count * pitch - columns.whole_begin - lanes;
      for (std::int64_t i = 0; i < count; ++i, to += pitch) {
        const std::int64_t row = first + i * row_step;
        if (row < 0 || row >= height) {
          for (std::int64_t phase = 0; phase < columns.phases; ++phase) {
            fill_places(to + phase * distance, columns.places);
          }
        } else {
          const bool has_room = row * row_stride <= last_read && i * pitch <= last_written;
          copy_row<Step>(plane + row * row_stride, columns, has_room, to, distance);
        }
      }
    };
    switch (column_stride == 1 ? columns.step : 0) {
      case 1: copy_all(std::integral_constant<int, 1>{}); break;
      case 2: copy_all(std::integral_constant<int, 2>{}); break;
      case 3: copy_all(std::integral_constant<int, 3>{}); break;
      case 4: copy_all(std::integral_constant<int, 4>{}); break;
      default: copy_all(std::integral_constant<int, 0>{}); break;
    }
  }

 private:
  template <class C>
  static void fill_places(C* to, std::int64_t count) {
    for (std::int64_t j = 0; j < count; ++j) to[j] = C(0);
  }

  /// \tparam Step of columns that are neighbours in memory, or 0
  /// \param has_room for a vector at the first place inside the image: what it reads behind the row is memory of the
  /// image, and what it writes behind the places is written again
  template <int Step, class C>
  void copy_row(const T* from, const column_phases& columns, bool has_room, C* to, std::int64_t distance) const {
    copy_edge(from, columns, 0, columns.whole_begin, to, distance);
    const std::int64_t begin = columns.whole_begin, end = columns.whole_end;
    if constexpr (Step == 1) {
      const T* const first = from + columns.origin + begin;
      if (has_room && end - begin <= simd<C>::lanes) {
        prumo::detail::load_vector(first).store(to + begin);
      } else {
        prumo::detail::copy_run(first, end - begin, to + begin);
      }
    } else {
      std::int64_t done = begin;
      if constexpr (Step > 1) done = take_apart<Step>(from, columns, has_room, to, distance);
      const std::int64_t step = Step > 0 ? Step : columns.step * column_stride;
      const T* phase_from = from + columns.origin * (Step > 0 ? 1 : column_stride);
      for (std::int64_t phase = 0; phase < columns.phases; ++phase, phase_from += Step > 0 ? 1 : column_stride) {
        C* const row = to + phase * distance;
        PRUMO_KEEP_LOOP
        for (std::int64_t j = done; j < end; ++j) row[j] = static_cast<C>(phase_from[j * step]);
      }
    }
    copy_edge(from, columns, end, columns.places, to, distance);
  }

  /// Places of which some may lie beside the image.
  template <class C>
  void copy_edge(const T* from, const column_phases& columns, std::int64_t begin, std::int64_t end, C* to,
                 std::int64_t distance) const {
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t phase = 0; phase < columns.phases; ++phase) {
        const std::int64_t column = columns.origin + j * columns.step + phase;
        to[phase * distance + j] = column >= 0 && column < width ? static_cast<C>(from[column * column_stride]) : C(0);
      }
    }
  }

  /// Copies a register of each phase at a time, if there are as many places, or room for them.
  /// \return the first place of those inside the image that it left
  template <int Step, class C>
  std::int64_t take_apart(const T* from, const column_phases& columns, bool has_room, C* to,
                          std::int64_t distance) const {
    constexpr std::int64_t lanes = simd<C>::lanes;
    const std::int64_t begin = columns.whole_begin;
    from += columns.origin;
    if (has_room && columns.whole_end - begin <= lanes) {
      take_apart_at<Step>(from, begin, columns.phases, to, distance);
      return columns.whole_end;
    }
    // Registers hold all phases of their places, also those that no filter meets.
    const std::int64_t end = std::min(columns.whole_end, (width - columns.origin) / Step);
    if (end - begin < lanes) return begin;
    for (std::int64_t j = begin; j < end; j += lanes) {
      take_apart_at<Step>(from, std::min(j, end - lanes), columns.phases, to, distance);
    }
    return end;
  }
  template <int Step, class C>
  static void take_apart_at(const T* first, std::int64_t place, std::int64_t phases, C* to, std::int64_t distance) {
    constexpr std::int64_t lanes = simd<C>::lanes;
    simd<C> loaded[Step];
    for (int i = 0; i < Step; ++i) loaded[i] = prumo::detail::load_vector(first + place * Step + i * lanes);
    [&]<std::size_t... Phase>(std::index_sequence<Phase...>) {
      ((Phase < static_cast<std::size_t>(phases)
            ? phase_of<Phase>(loaded).store(to + static_cast<std::int64_t>(Phase) * distance + place)
            : void()),
       ...);
    }(std::make_index_sequence<Step>{});
  }

  /// The lanes Phase, Phase + Step, ... of all registers together.
  template <std::size_t Phase, class C, std::size_t Step>
  static simd<C> phase_of(const simd<C> (&loaded)[Step]) {
    simd<C> found = loaded[0];
    [&]<std::size_t... Behind>(std::index_sequence<Behind...>) {
      ((found = joined<Phase, Step, Behind + 1>(found, loaded[Behind + 1])), ...);
    }(std::make_index_sequence<Step - 1>{});
    return found;
  }
  /// The lanes that were found in the first `Which` registers, and those of the next one. The first register is not in
  /// order yet.
  template <std::size_t Phase, std::size_t Step, std::size_t Which, class C>
  static simd<C> joined(simd<C> found, simd<C> next) {
    using words = typename simd<C>::words;
    using word = typename prumo::detail::math_constants<C>::word;
    constexpr auto lanes = static_cast<std::size_t>(simd<C>::lanes);
    constexpr auto lane_of = [](std::size_t lane) {
      const std::size_t source = lane * Step + Phase;
      if (source / lanes == Which) return lanes + source % lanes;
      return Which == 1 && source < lanes ? source : lane;
    };
    return [&]<std::size_t... Lane>(std::index_sequence<Lane...>) {
      const words chosen =
          prumo::detail::shuffle<word>(std::bit_cast<words>(found.value()), std::bit_cast<words>(next.value()),
                                       std::index_sequence<lane_of(Lane)...>());
      return simd<C>(std::bit_cast<typename simd<C>::native>(chosen));
    }(std::make_index_sequence<lanes>());
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
