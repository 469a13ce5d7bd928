// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a host of matrices that have few rows or few columns. Such a matrix is a few long runs on one side,
/// and their elements in turns on the other, so tiles would be mostly edges.

#include "transpose_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/lane_square.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block takes some stretches of the long side.
template <class Word>
class transpose_thin_host_kernel {
 public:
  /// From a cache line of words on, tiles are as fast.
  static constexpr std::int64_t most_runs = static_cast<std::int64_t>(streaming_unit / sizeof(Word)) - 1;

  static bool can_take(const transpose_problem<Word>& problem) {
    return std::min(problem.rows, problem.columns) <= most_runs;
  }

  transpose_thin_host_kernel(const transpose_problem<Word>& problem, int threads, bool streaming)
      : problem_(problem),
        has_few_rows_(problem.rows <= most_runs),
        length_(has_few_rows_ ? problem.columns : problem.rows),
        streaming_(streaming) {
    // A block of streamed stores ends in a fence that waits for memory, so it is long.
    constexpr std::int64_t blocks_per_thread = 16, most_stretches = 64;
    const std::int64_t stretches = (length_ + stretch - 1) / stretch;
    block_ = stretch * std::clamp<std::int64_t>(stretches / (threads * blocks_per_thread), 1, most_stretches);
  }

  std::int64_t blocks() const { return (length_ + block_ - 1) / block_; }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(length_, (block + 1) * block_);
    for (std::int64_t begin = block * block_; begin < end; begin += stretch) {
      const std::int64_t count = std::min(stretch, end - begin);
      if (has_few_rows_) {
        take_turns(begin, count);
      } else {
        gather_runs(begin, count);
      }
    }
    if (streaming_) streaming_fence();
  }

 private:
  using square = lane_square<Word>;
  static constexpr std::int64_t stretch = 256;

  /// Few rows: a row of the target has an element of each.
  void take_turns(std::int64_t begin, std::int64_t count) const {
    const std::int64_t runs = problem_.rows;
    Word* const target = problem_.target + begin * problem_.target_row_stride;
    const bool is_run = problem_.target_column_stride == 1 && problem_.target_row_stride == runs;
    if (!is_run || problem_.source_column_stride != 1) {
      for (std::int64_t r = 0; r < runs; ++r) {
        move(count, source_at(r, begin), problem_.source_column_stride, target + r * problem_.target_column_stride,
             problem_.target_row_stride);
      }
      return;
    }
    if (!streaming_) return take_turns_of(runs, begin, count, target);
    alignas(streaming_unit) Word held[stretch * most_runs];
    take_turns_of(runs, begin, count, held);
    stream_run(target, held, count * runs);
  }

  /// A number of runs that is known here lets compilers put vectors together.
  void take_turns_of(std::int64_t runs, std::int64_t begin, std::int64_t count, Word* to) const {
    switch (runs) {
      case 2: return take_turns_of<2>(begin, count, to);
      case 3: return take_turns_of<3>(begin, count, to);
      case 4: return take_turns_of<4>(begin, count, to);
      default: break;
    }
    std::int64_t i = 0;
    if (runs >= square::side) {
      for (; i + square::side <= count; i += square::side) {
        for_each_square(runs, [&](std::int64_t r) {
          square::transpose(source_at(r, begin + i), problem_.source_row_stride, to + i * runs + r, runs);
        });
      }
    }
    for (std::int64_t r = 0; r < runs; ++r) move(count - i, source_at(r, begin + i), 1, to + i * runs + r, runs);
  }

  /// Calls visit(first) for squares that cover this many rows or columns. The last two may overlap.
  template <class Visitor>
  static void for_each_square(std::int64_t runs, const Visitor& visit) {
    for (std::int64_t first = 0; first < runs; first += square::side) visit(std::min(first, runs - square::side));
  }

  template <int Runs>
  void take_turns_of(std::int64_t begin, std::int64_t count, Word* to) const {
    const Word* const from = source_at(0, begin);
    const std::int64_t distance = problem_.source_row_stride;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count; ++i) {
      for (int r = 0; r < Runs; ++r) to[i * Runs + r] = from[i + r * distance];
    }
  }

  /// Few columns: each becomes a row of the target.
  void gather_runs(std::int64_t begin, std::int64_t count) const {
    const std::int64_t runs = problem_.columns, stride = problem_.target_row_stride;
    Word* const target = problem_.target + begin * problem_.target_column_stride;
    if (problem_.target_column_stride != 1) {
      for (std::int64_t c = 0; c < runs; ++c) {
        move(count, source_at(begin, c), problem_.source_row_stride, target + c * stride,
             problem_.target_column_stride);
      }
      return;
    }
    if (!streaming_) return gather_runs(begin, count, target, stride);
    alignas(streaming_unit) Word held[stretch * most_runs];
    gather_runs(begin, count, held, stretch);
    for (std::int64_t c = 0; c < runs; ++c) stream_run(target + c * stride, held + c * stretch, count);
  }

  void gather_runs(std::int64_t begin, std::int64_t count, Word* to, std::int64_t stride) const {
    const std::int64_t runs = problem_.columns;
    std::int64_t i = 0;
    if (gathers_squares(runs) && problem_.source_column_stride == 1) {
      for (; i + square::side <= count; i += square::side) {
        for_each_square(runs, [&](std::int64_t c) {
          square::transpose(source_at(begin + i, c), problem_.source_row_stride, to + c * stride + i, stride);
        });
      }
    }
    for (std::int64_t c = 0; c < runs; ++c) {
      move(count - i, source_at(begin + i, c), problem_.source_row_stride, to + c * stride + i, 1);
    }
  }

  /// Squares of two rows gain nothing over single elements, nor do squares that overlap by half.
  static bool gathers_squares(std::int64_t runs) {
    const std::int64_t covered = (runs + square::side - 1) / square::side * square::side;
    return square::side > 2 && runs >= square::side && 3 * covered <= 4 * runs;
  }

  static void move(std::int64_t count, const Word* from, std::int64_t from_step, Word* to, std::int64_t to_step) {
    if (to_step == 1) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * from_step];
    } else {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
    }
  }

  const Word* source_at(std::int64_t row, std::int64_t column) const {
    return problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
  }

  transpose_problem<Word> problem_;
  bool has_few_rows_;
  std::int64_t length_;
  std::int64_t block_ = stretch;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
