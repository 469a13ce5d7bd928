// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What follows the products of a block in matrix units: pooling, activation and stores.

#include "convolution_problem.hpp"
#include "gemm_activation.hpp"
#include "pooling_kernel.hpp"
#include "scratch_copies.hpp"
#include "tensor_products.hpp"
#include "tensor_unit.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Activates a result, of which few are computed.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION float activated_result(const convolution_problem<T>& problem, float value) {
  if (problem.activation == activation_function::relu) return prumo::maximum(value, 0.0f);
  return activated_at_length(problem.activation, value);
}

/// A place of results in the device's memory.
template <class T>
struct result_in_memory {
  T* to;

  KOKKOS_FORCEINLINE_FUNCTION result_in_memory operator+(std::int64_t elements) const { return {to + elements}; }
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void store(const float* values) const {
    store_at_once<false>(to, rounded_words<T, Count>(values));
  }
  KOKKOS_FORCEINLINE_FUNCTION void store_one(float value) const { *to = T(value); }
};

/// A place of results in a team's scratch memory.
template <class T>
struct result_in_scratch {
  scratch_place to;

  KOKKOS_FORCEINLINE_FUNCTION result_in_scratch operator+(std::int64_t elements) const {
    return {to + static_cast<int>(elements) * static_cast<int>(sizeof(T))};
  }
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void store(const float* values) const {
    to.store(rounded_words<T, Count>(values).words);
  }
  KOKKOS_FORCEINLINE_FUNCTION void store_one(float value) const { to.store_element(T(value)); }
};

/// \tparam Window the side of the windows whose maxima are stored; 1: nothing is pooled
/// \tparam Place a result_in_memory or a result_in_scratch
template <class T, int Window, class Place>
class tensor_results {
  static constexpr int units = tensor_sums::units;

 public:
  /// Where the results of a thread's row of weights begin in an item.
  struct target {
    Place to;
    int rows;  ///< of the convolution that are there, of its stacked row and the ones below; none if it has no results
    int y_rows;  ///< the same after pooling
  };

  /// \param strides of the results, whose data is not used
  KOKKOS_FORCEINLINE_FUNCTION tensor_results(const convolution_problem<T>& problem, const tensor_layout& layout,
                                             const image_array<T>& strides)
      : problem_(problem), layout_(layout), strides_(strides) {}

  /// \param first where the results of the first of the rows are, for the first channel that is there
  /// \param first_row of the image, whose results begin there
  KOKKOS_FORCEINLINE_FUNCTION target target_of(const Place& first, int channel, int first_channel, int stacked,
                                               int first_row) const {
    if (channel >= problem_.out_channels) return {first, 0, 0};
    const int row = first_row + stacked, y_row = row / Window;
    const std::int64_t distance =
        (channel - first_channel) * strides_.channel_stride + stacked / Window * strides_.row_stride;
    return {first + distance, static_cast<int>(problem_.rows) - row, static_cast<int>(problem_.y_rows) - y_row};
  }

  /// Stores the results of a block.
  /// \param targets of the rows of weights in the lower half of a tile and in the upper one
  /// \param image of the item
  /// \param row where the block begins in the item
  KOKKOS_FORCEINLINE_FUNCTION void finish(const target (&targets)[2], int image, int row, int column,
                                          tensor_sums& sums) const {
    const int distance = image * static_cast<int>(strides_.image_stride) +
                         row / Window * static_cast<int>(strides_.row_stride) +
                         column / Window * static_cast<int>(strides_.column_stride);
    const int columns = static_cast<int>(problem_.columns) - column;
    if constexpr (Window == 1) {
      activate(sums);
      PRUMO_UNROLL
      for (int half = 0; half < 2; ++half) {
        const target& of_half = targets[half];
        store_rows(of_half.to + distance, of_half.rows - row, columns, half, sums);
      }
    } else {
      const int y_columns = static_cast<int>(problem_.y_columns) - column / Window;
      const auto there = [&](int half) {
        return extents{targets[half].rows - row, columns, targets[half].y_rows - row / Window, y_columns};
      };
      if (layout_.stacked_rows == 1) {
        PRUMO_UNROLL
        for (int half = 0; half < 2; ++half) {
          PRUMO_UNROLL
          for (int unit = 0; unit < units; unit += Window) {
            store_maxima(targets[half].to + distance, unit, there(half),
                         [&](int r, int c) { return sums.at(unit + r, half, c); });
          }
        }
      } else {
        // The halves of a tile are two stacked rows. With more of them, the next two are those of another thread.
        const int pairs = layout_.stacked_rows / 2;
        PRUMO_UNROLL
        for (int first = 0; first < 2 * units; first += Window) {
          store_maxima(targets[0].to + distance, first * pairs, there(0),
                       [&](int r, int c) { return sums.at((first + r) / 2, (first + r) % 2, c); });
        }
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void activate(tensor_sums& sums) const {
    const activation_function function = problem_.activation;
    if (function == activation_function::none) return;
    if (function == activation_function::relu) {
      sums.for_each([](float& sum) { sum = prumo::maximum(sum, 0.0f); });
    } else {
      sums.for_each([=](float& sum) { sum = activated_at_length(function, sum); });
    }
  }

  /// Stores four neighbours of each row that is there.
  KOKKOS_FORCEINLINE_FUNCTION void store_rows(const Place& to, int rows, int columns, int half,
                                              tensor_sums& sums) const {
    if (layout_.result_pack == 4 && columns >= 4) {
      for_each_row(to, rows, half, sums,
                   [](const Place& at, const float (&values)[4]) { at.template store<4>(values); });
    } else if (layout_.result_pack >= 2) {
      for_each_row(to, rows, half, sums, [=](const Place& at, const float (&values)[4]) {
        if (columns >= 2) {
          at.template store<2>(values);
        } else {
          at.store_one(values[0]);
        }
        if (columns >= 4) {
          (at + 2).template store<2>(values + 2);
        } else if (columns == 3) {
          (at + 2).store_one(values[2]);
        }
      });
    } else {
      const std::int64_t distance = strides_.column_stride;
      for_each_row(to, rows, half, sums, [=](const Place& at, const float (&values)[4]) {
        PRUMO_UNROLL
        for (int c = 0; c < 4; ++c) {
          if (c < columns) (at + c * distance).store_one(values[c]);
        }
      });
    }
  }

  template <class Store>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_row(Place to, int rows, int half, tensor_sums& sums,
                                                const Store& store) const {
    const std::int64_t distance = layout_.stacked_rows * strides_.row_stride;
    PRUMO_UNROLL
    for (int unit = 0; unit < units; ++unit) {
      float values[4];
      PRUMO_UNROLL
      for (int c = 0; c < 4; ++c) values[c] = sums.at(unit, half, c);
      if (unit * layout_.stacked_rows < rows) store(to, values);
      to = to + distance;
    }
  }

  /// What is there of a block's results, from a thread's first one on.
  struct extents {
    int rows;
    int columns;
    int y_rows;
    int y_columns;
  };

  /// The maxima of neighbouring windows. Some results may lie behind the last ones of the convolution.
  /// \param first row of the windows in the block
  /// \param at tells the result in a row and a column of the windows
  template <class At>
  KOKKOS_FORCEINLINE_FUNCTION void store_maxima(const Place& of_block, int first, const extents& there,
                                                const At& at) const {
    constexpr float none = -Kokkos::Experimental::infinity_v<float>;
    if (first / Window >= there.y_rows) return;
    const Place to = of_block + first / Window * strides_.row_stride;
    PRUMO_UNROLL
    for (int window = 0; window < 4 / Window; ++window) {
      float maximum = none;
      PRUMO_UNROLL
      for (int r = 0; r < Window; ++r) {
        PRUMO_UNROLL
        for (int c = 0; c < Window; ++c) {
          const bool is_there = first + r < there.rows && window * Window + c < there.columns;
          const float value = is_there ? at(r, window * Window + c) : none;
          maximum = prumo::detail::joined_in_window<prumo::detail::pooling_kind::maximum>(maximum, value);
        }
      }
      if (window >= there.y_columns) continue;
      (to + window * strides_.column_stride).store_one(activated_result(problem_, maximum));
    }
  }

  const convolution_problem<T>& problem_;
  const tensor_layout& layout_;
  image_array<T> strides_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
