// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What kernels of the losses are given.

#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

enum class loss_kind : std::uint8_t { softmax, sigmoid, squared };

/// Strides are in elements.
template <class T>
struct loss_problem {
  const T* scores = nullptr;
  T* gradient = nullptr;
  const void* labels = nullptr;
  double* sums = nullptr;
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  std::int64_t score_row_stride = 0;
  std::int64_t score_column_stride = 1;
  std::int64_t gradient_row_stride = 0;
  std::int64_t gradient_column_stride = 1;
  std::int64_t label_stride = 1;
  std::int64_t sum_stride = 1;
  int label_bytes = 4;
  double scale = 1;

  /// A label, or -1 for one that is no class.
  KOKKOS_FUNCTION std::int64_t label_of(std::int64_t row) const {
    const std::int64_t place = row * label_stride;
    std::int64_t label = 0;
    if (label_bytes == 4) {
      label = static_cast<const std::int32_t*>(labels)[place];
    } else if (label_bytes == 8) {
      label = static_cast<const std::int64_t*>(labels)[place];
    } else {
      label = static_cast<const std::uint8_t*>(labels)[place];
    }
    return label < 0 || label >= classes ? -1 : label;
  }
};

/// The loss of some rows, and how many of them are right.
struct loss_sums {
  double loss = 0;
  double correct = 0;
};

/// How many rows a host adds up before it joins the sums of parts. It follows from the extents alone, and there are at
/// most 65536 parts.
constexpr std::int64_t loss_rows_of_part(std::int64_t rows, std::int64_t classes) {
  constexpr std::int64_t elements = 4096, most_parts = 65536;
  const std::int64_t of_elements = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, classes));
  return std::max(of_elements, (rows + most_parts - 1) / most_parts);
}

}  // namespace prumo::detail
