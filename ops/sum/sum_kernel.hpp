// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of sum. A row is cut into segments of fixed length; a first kernel sums segments into partial sums, a
/// second one the partial sums of each row. Short rows need the first only.

#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/loop_nest.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Elements of a segment: enough that partial sums are few, few enough that they can be shared out.
inline constexpr std::int64_t sum_segment = 16384;

/// How many segments a row of so many columns has; a row of none has one, whose sum is 0.
inline std::int64_t sum_segments(std::int64_t columns) {
  return std::max<std::int64_t>(1, (columns + sum_segment - 1) / sum_segment);
}

/// target[r * target_row_stride + s * target_segment_stride] = the sum of segment s of row r.
template <class In, class Out>
class sum_segments_kernel {
 public:
  const In* source;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
  Out* target;
  std::int64_t target_stride;
  std::int64_t segment_length;

  std::int64_t segments_per_row() const {
    return std::max<std::int64_t>(1, (columns + segment_length - 1) / segment_length);
  }
  std::int64_t blocks() const { return rows * segments_per_row(); }

  void operator()(std::int64_t block) const {
    const std::int64_t segments = segments_per_row();
    const std::int64_t row = block / segments;
    const std::int64_t begin = (block - row * segments) * segment_length;
    const std::int64_t count = std::min(segment_length, columns - begin);
    const In* const first = source + row * row_stride + begin * column_stride;
    target[block * target_stride] = static_cast<Out>(
        column_stride == 1 ? sum_of(first, count, unit_stride{}) : sum_of(first, count, any_stride{column_stride}));
  }

 private:
  using C = compute_t<In>;

  struct unit_stride {
    std::int64_t operator*() const { return 1; }
  };
  struct any_stride {
    std::int64_t value;
    std::int64_t operator*() const { return value; }
  };

  template <class Stride>
  static C sum_of(const In* first, std::int64_t count, Stride stride) {
    if (count < reduction_lanes<C>) {
      C total(0);
      for (std::int64_t index = 0; index < count; ++index) total = total + load(first[index * *stride]);
      return total;
    }
    return reduce_lanes(count, C(0), add_values{}, [=](std::int64_t index) { return load(first[index * *stride]); });
  }
};

/// Sums of rows whose rows lie side by side (column-major): a block of rows an iteration, so that reads are in order.
template <class T>
class sum_column_major_kernel {
 public:
  /// Columns that are added up before they join the total, which keeps the depth near that of the other kernel.
  static constexpr std::int64_t columns_at_once = 256;
  static constexpr std::int64_t rows_per_block = 256 / static_cast<std::int64_t>(sizeof(T));

  const T* source;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t column_stride;
  T* target;
  std::int64_t target_stride;

  std::int64_t blocks() const { return (rows + rows_per_block - 1) / rows_per_block; }

  void operator()(std::int64_t block) const {
    const std::int64_t begin = block * rows_per_block;
    const std::int64_t count = std::min(rows_per_block, rows - begin);
    // The length of a whole block is a constant, which keeps the totals in registers.
    if (count == rows_per_block) {
      sum_block(begin, std::integral_constant<std::int64_t, rows_per_block>{});
    } else {
      sum_block(begin, count);
    }
  }

 private:
  using C = compute_t<T>;

  template <class Count>
  void sum_block(std::int64_t begin, Count count) const {
    C total[rows_per_block] = {};
    for (std::int64_t chunk = 0; chunk < columns; chunk += columns_at_once) {
      C partial[rows_per_block] = {};
      const std::int64_t end = std::min(columns, chunk + columns_at_once);
      for (std::int64_t column = chunk; column < end; ++column) {
        const T* const first = source + begin + column * column_stride;
        for (std::int64_t row = 0; row < count; ++row) partial[row] = partial[row] + load(first[row]);
      }
      for (std::int64_t row = 0; row < count; ++row) total[row] = total[row] + partial[row];
    }
    for (std::int64_t row = 0; row < count; ++row) target[(begin + row) * target_stride] = static_cast<T>(total[row]);
  }
};

/// The partial sums of an array of any strides: a stretch of its inner loop a partial sum.
template <class In, class Out>
class sum_strided_kernel {
 public:
  const In* source;
  loop_nest<1> nest;
  Out* target;
  std::int64_t partial_count;

  /// How many partial sums there will be.
  static std::int64_t partial_sums(const loop_nest<1>& nest) {
    return nest.size() == 0 ? 0 : nest.size() / nest.extents[nest.inner()] * stretches_of(nest);
  }

  std::int64_t blocks() const { return partial_count; }

  void operator()(std::int64_t block) const {
    const std::int64_t stretches = stretches_of(nest);
    const int inner = nest.inner();
    std::int64_t rest = block / stretches;
    std::int64_t offset = 0;
    for (int dimension = inner - 1; dimension >= 0; --dimension) {
      offset += rest % nest.extents[dimension] * nest.strides[0][dimension];
      rest /= nest.extents[dimension];
    }
    const std::int64_t begin = block % stretches * sum_segment;
    const sum_segments_kernel<In, Out> stretch{source + offset + begin * nest.strides[0][inner],
                                               1,
                                               std::min(sum_segment, nest.extents[inner] - begin),
                                               0,
                                               nest.strides[0][inner],
                                               target + block,
                                               1,
                                               sum_segment};
    stretch(0);
  }

 private:
  static std::int64_t stretches_of(const loop_nest<1>& nest) {
    return (nest.extents[nest.inner()] + sum_segment - 1) / sum_segment;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
