// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a host of matrices that have few rows or few columns. Such a matrix is a few long runs on one side,
/// and their elements in turns on the other, so tiles would be mostly edges.

#include "transpose_problem.hpp"
#include "transpose_rectangle_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block takes some stretches of the long side.
template <class Word>
class transpose_thin_host_kernel {
  using square = vector_square<Word>;
  using rectangle = transpose_rectangle_host<Word>;
  static constexpr std::int64_t least = rectangle::least;
  static constexpr std::int64_t line = static_cast<std::int64_t>(streaming_unit / sizeof(Word));
  /// Words that are put together before they go past the caches: half of the nearest cache.
  static constexpr std::int64_t held_words = static_cast<std::int64_t>(16384 / sizeof(Word));
  /// Lines of each row or column in a stretch that goes past the caches (docs/performance-log.md has the times).
  static constexpr std::int64_t least_lines = 4, usual_lines = 64, most_lines = 16;
  static constexpr std::int64_t most_streamed_rows = held_words / (least_lines * line);
  static constexpr std::int64_t most_streamed_columns = held_words / (3 * line);

 public:
  /// Fewer rows or columns than squares have. More if tiles would be mostly edges: if elements are no neighbours, and
  /// if whole cache lines are written.
  static bool can_take(const transpose_problem<Word>& problem, bool streaming) {
    const std::int64_t narrow = std::min(problem.rows, problem.columns);
    if (narrow < least) return true;
    if (problem.source_column_stride != 1 || problem.target_column_stride != 1) return narrow < line;
    if (!streaming) return false;
    return has_few_rows(problem) ? is_one_run(problem) && narrow <= most_streamed_rows
                                 : narrow <= most_streamed_columns;
  }

  transpose_thin_host_kernel(const transpose_problem<Word>& problem, int threads, bool streaming)
      : problem_(problem),
        has_few_rows_(has_few_rows(problem)),
        length_(has_few_rows_ ? problem.columns : problem.rows),
        streaming_(streaming) {
    const std::int64_t narrow = std::min(problem.rows, problem.columns);
    if (streaming && has_few_rows_) stretch_ = std::max(least_lines, usual_lines / narrow) * line;
    if (streaming && !has_few_rows_) stretch_ = std::min(most_lines, held_words / narrow / line - 1) * line;
    // A block of streamed stores ends in a fence that waits for memory, so it is long.
    constexpr std::int64_t blocks_per_thread = 16, most_stretches = 64;
    const std::int64_t stretches = (length_ + stretch_ - 1) / stretch_;
    block_ = stretch_ * std::clamp<std::int64_t>(stretches / (threads * blocks_per_thread), 1, most_stretches);
  }

  std::int64_t blocks() const { return (length_ + block_ - 1) / block_; }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(length_, (block + 1) * block_);
    for (std::int64_t begin = block * block_; begin < end; begin += stretch_) {
      const std::int64_t count = std::min(stretch_, end - begin);
      if (has_few_rows_) {
        take_turns(begin, count);
      } else {
        gather_runs(begin, count);
      }
    }
    if (streaming_) streaming_fence();
  }

 private:
  static bool has_few_rows(const transpose_problem<Word>& problem) { return problem.rows < problem.columns; }
  static bool is_one_run(const transpose_problem<Word>& problem) {
    return problem.target_column_stride == 1 && problem.target_row_stride == problem.rows;
  }

  /// Few rows: a row of the target has an element of each.
  void take_turns(std::int64_t begin, std::int64_t count) const {
    const std::int64_t runs = problem_.rows;
    Word* const target = problem_.target + begin * problem_.target_row_stride;
    if (!is_one_run(problem_) || problem_.source_column_stride != 1) {
      for (std::int64_t r = 0; r < runs; ++r) {
        move(count, source_at(r, begin), problem_.source_column_stride, target + r * problem_.target_column_stride,
             problem_.target_row_stride);
      }
      return;
    }
    if (!streaming_) return take_turns_of(runs, begin, count, target);
    alignas(streaming_unit) Word held[held_words];
    take_turns_of(runs, begin, count, held);
    // With each line that is written, one of the next stretch is read. Otherwise reading would wait for the writes.
    const std::int64_t next = begin + count, lines_of_row = (std::min(stretch_, length_ - next) + line - 1) / line;
    std::int64_t row = lines_of_row > 0 ? 0 : runs, ahead = 0;
    stream_run(target, held, count * runs, [&] {
      if (row == runs) return;
      prefetch(source_at(row, next + ahead * line));
      if (++ahead < lines_of_row) return;
      ahead = 0;
      ++row;
    });
  }

  /// A number of runs that is known here lets compilers put vectors together.
  void take_turns_of(std::int64_t runs, std::int64_t begin, std::int64_t count, Word* to) const {
    switch (runs) {
      case 2: return take_turns_of<2>(begin, count, to);
      case 3: return take_turns_of<3>(begin, count, to);
      case 4: return take_turns_of<4>(begin, count, to);
      default: break;
    }
    if (runs >= least && count >= least) {
      return rectangle::transpose(runs, count, source_at(0, begin), problem_.source_row_stride, to, runs,
                                  [](std::int64_t) {});
    }
    std::int64_t i = 0;
    with_few(runs, [&]<int Runs> {
      // Squares are higher than the rows are many, so they write beyond a row of the target, but not beyond the
      // stretch.
      for (; i + square::length + least <= count; i += square::length) {
        square::template transpose_columns<Runs>(source_at(0, begin + i), problem_.source_row_stride, to + i * Runs,
                                                 Runs);
      }
    });
    for (std::int64_t r = 0; r < runs; ++r) move(count - i, source_at(r, begin + i), 1, to + i * runs + r, runs);
  }

  /// Calls visit<Runs>() for a number of runs that is less than those of a square.
  template <class Visitor>
  static void with_few(std::int64_t runs, const Visitor& visit) {
    [&]<int... Runs>(std::integer_sequence<int, Runs...>) {
      [[maybe_unused]] const auto try_one = [&]<int Count> {  // no runs are few for the widest words
        if (runs == Count) visit.template operator()<Count>();
      };
      (try_one.template operator()<Runs + 2>(), ...);
    }(std::make_integer_sequence<int, static_cast<int>(least) - 2>());
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
    // In each run of the target the stretch begins where a line begins, and it ends with rows below, which are near.
    alignas(streaming_unit) Word held[held_words];
    const std::int64_t pitch = stretch_ + line;
    const std::int64_t reach = std::min(problem_.rows - begin, pitch);
    gather_runs(begin, reach, held, pitch);
    const Word* next = source_at(begin + reach, 0);
    const Word* const next_end = source_at(std::min(problem_.rows, begin + reach + stretch_), 0);
    for (std::int64_t c = 0; c < runs; ++c) {
      Word* const to = target + c * stride;
      const std::int64_t shift = words_to_line(to);
      const std::int64_t first = begin == 0 ? 0 : std::min(reach, shift);
      const std::int64_t end = begin + count == problem_.rows ? reach : std::min(reach, count + shift);
      stream_run(to + first, held + c * pitch + first, end - first, [&] {
        if (next < next_end) prefetch(next);
        next += line;
      });
    }
  }

  static void prefetch([[maybe_unused]] const Word* at) {
#if defined(__GNUC__)
    __builtin_prefetch(at, 0, 2);  // into the second cache
#endif
  }

  static std::int64_t words_to_line(const Word* at) {
    const auto word = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % streaming_unit / sizeof(Word));
    return (line - word) % line;
  }

  void gather_runs(std::int64_t begin, std::int64_t count, Word* to, std::int64_t stride) const {
    const std::int64_t runs = problem_.columns;
    std::int64_t i = 0;
    if (runs >= least && count >= least && problem_.source_column_stride == 1) {
      return rectangle::transpose(count, runs, source_at(begin, 0), problem_.source_row_stride, to, stride,
                                  [](std::int64_t) {});
    }
    if (problem_.source_column_stride == 1 && problem_.source_row_stride == runs) {
      with_few(runs, [&]<int Runs> { i = gather_few<Runs>(begin, count, to, stride); });
    }
    for (std::int64_t c = 0; c < runs; ++c) {
      move(count - i, source_at(begin + i, c), problem_.source_row_stride, to + c * stride + i, 1);
    }
  }

  /// Returns how many elements of each run it has gathered.
  template <int Runs>
  std::int64_t gather_few(std::int64_t begin, std::int64_t count, Word* to, std::int64_t stride) const {
    std::int64_t i = 0;
    if constexpr (Runs == 2) {
      for (; i + square::length <= count; i += square::length) {
        part_pairs(source_at(begin + i, 0), to + i, to + stride + i);
      }
    } else {
      // Squares are wider than a row, so they read beyond it, but not beyond the last one.
      const std::int64_t most = std::min(count, problem_.rows - begin - least);
      for (; i + square::length <= most; i += square::length) {
        square::template transpose_rows<Runs>(source_at(begin + i, 0), Runs, to + i, stride);
      }
    }
    return i;
  }

  /// The first and the second words of the pairs in two vectors.
  static void part_pairs(const Word* pairs, Word* first, Word* second) {
    using vector = typename square::vector;
    vector lower, upper;
    std::memcpy(&lower, pairs, sizeof(vector));
    std::memcpy(&upper, pairs + square::length, sizeof(vector));
    [&]<std::size_t... At>(std::index_sequence<At...>) {
      const vector even = shuffle<Word>(lower, upper, std::index_sequence<2 * At...>());
      const vector odd = shuffle<Word>(lower, upper, std::index_sequence<(2 * At + 1)...>());
      std::memcpy(first, &even, sizeof(vector));
      std::memcpy(second, &odd, sizeof(vector));
    }(std::make_index_sequence<static_cast<std::size_t>(square::length)>());
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
  std::int64_t stretch_ = 256;
  std::int64_t block_;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
