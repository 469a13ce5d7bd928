// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of gather_rows on a host. A thread copies a stretch of a row, or several rows.

#include "gather_problem.hpp"
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace prumo::detail {

inline namespace PRUMO_INSTRUCTION_SET {

/// A block has several rows, because each block of streamed stores ends in a fence that waits for memory.
template <class Word, class Index>
class gather_host_kernel {
 public:
  gather_host_kernel(const gather_problem<Word, Index>& problem, std::int64_t workers, bool streaming)
      : problem_(problem), streaming_(streaming) {
    constexpr std::int64_t most_words = 65536, blocks_per_worker = 16;
    stretches_ = std::max<std::int64_t>(1, (problem.columns + most_words - 1) / most_words);
    stretch_ = stretches_ == 1 ? problem.columns : most_words;
    rows_per_block_ = stretches_ > 1 ? 1
                                     : std::clamp<std::int64_t>(problem.rows / (workers * blocks_per_worker), 1,
                                                                most_words / (problem.columns + 1) + 1);
    const std::int64_t row_bytes = problem.columns * static_cast<std::int64_t>(sizeof(Word));
    rows_ahead_ = std::clamp<std::int64_t>(bytes_ahead / (row_bytes + 1), 1, 16);
    // A small table is in the nearest cache after the first rows.
    constexpr std::int64_t nearest_cache = 32768;
    if (problem.source_rows <= nearest_cache / (row_bytes + 1)) rows_ahead_ = problem.rows;
    // With AVX-512, lines of the target are prefetched before they are written, where they come from a far cache.
    constexpr std::int64_t near_bytes = std::int64_t{1} << 20;
    prefetches_target_ = simd_bytes >= 64 && !streaming && problem.target_column_stride == 1 &&
                         problem.target_row_stride == problem.columns &&
                         problem.rows * row_bytes > workers * near_bytes;
    is_narrow_ = problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
                 row_bytes <= static_cast<std::int64_t>(widest_narrow);
    streams_runs_ = streaming && problem.target_column_stride == 1 && problem.target_row_stride == problem.columns &&
                    row_bytes <= static_cast<std::int64_t>(widest_in_runs);
  }

  std::int64_t blocks() const {
    if (problem_.columns == 0) return 0;
    return (problem_.rows + rows_per_block_ - 1) / rows_per_block_ * stretches_;
  }

  void operator()(std::int64_t block) const {
    const std::int64_t first = block / stretches_ * rows_per_block_;
    const std::int64_t begin = block % stretches_ * stretch_;
    const std::int64_t end = std::min(problem_.columns, begin + stretch_);
    const std::int64_t last = std::min(problem_.rows, first + rows_per_block_);
    // A worker's next block is most likely the one that follows, so its rows are prefetched, too.
    const std::int64_t prefetched = stretches_ == 1 ? problem_.rows : last;
    if (is_narrow_ && !streaming_) {
      return copy_narrow_rows(first, last, prefetched, target_row(first), problem_.target_row_stride);
    }
    if (streams_runs_) return stream_runs(first, last);
    for (std::int64_t row = first; row < last; ++row) {
      if (row + rows_ahead_ < prefetched) prefetch(row + rows_ahead_, begin, end);
      if (prefetches_target_) {
        const auto bytes = static_cast<std::size_t>(end - begin) * sizeof(Word);
        prefetch_from_far<prefetch_for::writing>(target_row(row) + begin, bytes);
      }
      copy_row(row, begin, end, target_row(row), streaming_);
    }
    if (streaming_) streaming_fence();
  }

 private:
  /// The processor cannot guess which rows come next, but the indices say it. So this number of bytes is prefetched,
  /// but at most a page of each row: from there on the processor sees that the row is read in order.
  static constexpr std::int64_t bytes_ahead = 16384, bytes_of_row = 4096;
  static constexpr std::int64_t line = static_cast<std::int64_t>(streaming_unit / sizeof(Word));
  static constexpr std::size_t widest_narrow = 128;  ///< bytes of a row
  /// Bytes of a row. An Emerald Rapids took a fifth less time for rows of 564 bytes, and a Zen 3 nothing.
  static constexpr std::size_t widest_in_runs = simd_bytes >= 64 ? 2048 : 256;
  static constexpr auto run_words = static_cast<std::int64_t>(8192 / sizeof(Word));

  bool is_row(std::int64_t chosen) const { return chosen >= 0 && chosen < problem_.source_rows; }
  std::int64_t index_of(std::int64_t row) const {
    return static_cast<std::int64_t>(problem_.index[row * problem_.index_stride]);
  }

  void prefetch([[maybe_unused]] std::int64_t row, [[maybe_unused]] std::int64_t begin,
                [[maybe_unused]] std::int64_t end) const {
#if defined(__GNUC__)
    const std::int64_t chosen = index_of(row);
    if (!is_row(chosen) || problem_.source_column_stride != 1) return;
    const Word* const source = problem_.source + chosen * problem_.source_row_stride;
    end = std::min(end, begin + bytes_of_row / static_cast<std::int64_t>(sizeof(Word)));
    for (std::int64_t c = begin; c < end; c += line) __builtin_prefetch(source + c);
    // A row that begins within a line may end in one more. For short rows, that prefetch takes longer than it saves.
    if (end - begin > 4 * line) __builtin_prefetch(source + (end - 1));
#endif
  }

  /// Rows that follow each other in the target. Where one ends within a cache line, the next one begins there, so they
  /// are streamed together from a copy in the nearest cache.
  void stream_runs(std::int64_t first, std::int64_t last) const {
    alignas(streaming_unit) Word run[run_words];
    const std::int64_t columns = problem_.columns, rows_at_once = run_words / columns;
    for (std::int64_t begin = first; begin < last; begin += rows_at_once) {
      const std::int64_t end = std::min(last, begin + rows_at_once);
      if (is_narrow_) {
        copy_narrow_rows(begin, end, problem_.rows, run, columns);
      } else {
        for (std::int64_t row = begin; row < end; ++row) {
          if (row + rows_ahead_ < problem_.rows) prefetch(row + rows_ahead_, 0, columns);
          copy_row(row, 0, columns, run + (row - begin) * columns, false);
        }
      }
      stream_run(problem_.target + begin * columns, run, (end - begin) * columns);
    }
    streaming_fence();
  }

  /// Rows [first, last), for which a call of memcpy would take longer than the copy.
  /// \param end of the rows that are prefetched
  /// \param to where the first one goes
  /// \param stride from there to the next
  void copy_narrow_rows(std::int64_t first, std::int64_t last, std::int64_t end, Word* to, std::int64_t stride) const {
    const auto row_bytes = static_cast<std::size_t>(problem_.columns) * sizeof(Word);
    if (problem_.columns == 1) {
      const bool dense = problem_.source_row_stride == 1 && problem_.index_stride == 1 && stride == 1;
      return dense ? copy_words(first, last, to) : copy_narrow_rows<sizeof(Word), true>(first, last, end, to, stride);
    }
    [&]<std::size_t... Part>(std::index_sequence<Part...>) {
      static_cast<void>(
          ((row_bytes <= 2 * Part && (copy_rows_of_parts<Part>(first, last, end, to, stride), true)) || ...));
    }(std::index_sequence<sizeof(Word), 2 * sizeof(Word), 8, 16, 32, widest_narrow / 2>{});
  }
  /// Rows of a word, without gaps.
  void copy_words(std::int64_t first, std::int64_t last, Word* to) const {
    // Local copies of the members: the compiler would load these again for each row, because words may alias them.
    const auto source_rows = static_cast<std::uint64_t>(problem_.source_rows);
    const Word* const source = problem_.source;
    const Index* const index = problem_.index;
    const Word missing = problem_.missing;
    for (std::int64_t row = first; row < last; ++row) {
      const auto chosen = static_cast<std::uint64_t>(static_cast<std::int64_t>(index[row]));
      to[row - first] = chosen < source_rows ? source[chosen] : missing;
    }
  }

  template <std::size_t Part>
  void copy_rows_of_parts(std::int64_t first, std::int64_t last, std::int64_t end, Word* to,
                          std::int64_t stride) const {
    const auto row_bytes = static_cast<std::size_t>(problem_.columns) * sizeof(Word);
    if (row_bytes == 2 * Part) return copy_narrow_rows<2 * Part, true>(first, last, end, to, stride);
    copy_narrow_rows<Part, false>(first, last, end, to, stride);
  }

  /// Rows of one part, or of Part to 2 Part bytes: two copies of Part bytes each, which may overlap. Rows of a
  /// line or less are not prefetched: a processor finds many of them ahead by itself.
  template <std::size_t Part, bool IsWhole>
  void copy_narrow_rows(std::int64_t first, std::int64_t last, std::int64_t end, Word* to, std::int64_t stride) const {
    // Local copies of the members: the compiler would load these again for each row, because words may alias them.
    const std::int64_t source_stride = problem_.source_row_stride, index_stride = problem_.index_stride;
    const auto source_rows = static_cast<std::uint64_t>(problem_.source_rows);
    const std::size_t rest = static_cast<std::size_t>(problem_.columns) * sizeof(Word) - Part;
    const Word* const source = problem_.source;
    const Index* index = problem_.index + first * index_stride;
    for (std::int64_t row = first; row < last; ++row, index += index_stride, to += stride) {
      if constexpr ((IsWhole ? Part : 2 * Part) > streaming_unit) {
        if (row + rows_ahead_ < end) prefetch(row + rows_ahead_, 0, problem_.columns);
      }
      const auto chosen = static_cast<std::int64_t>(*index);
      if (static_cast<std::uint64_t>(chosen) >= source_rows) [[unlikely]] {
        copy_row(row, 0, problem_.columns, to, false);
        continue;
      }
      const auto* const from = reinterpret_cast<const char*>(source + chosen * source_stride);
      auto* const bytes = reinterpret_cast<char*>(to);
      if constexpr (IsWhole) {
        std::memcpy(bytes, from, Part);
      } else {
        char head[Part], tail[Part];
        std::memcpy(head, from, Part);
        std::memcpy(tail, from + rest, Part);
        std::memcpy(bytes, head, Part);
        std::memcpy(bytes + rest, tail, Part);
      }
    }
  }

  Word* target_row(std::int64_t row) const { return problem_.target + row * problem_.target_row_stride; }

  /// Copies elements [begin, end) of the row of the source that index number `row` chooses.
  /// \param to where element 0 goes
  void copy_row(std::int64_t row, std::int64_t begin, std::int64_t end, Word* to, bool streaming) const {
    const std::int64_t chosen = index_of(row);
    // Local copies of the members: the compiler would load these again for each row, because words may alias them.
    const std::int64_t source_step = problem_.source_column_stride, target_step = problem_.target_column_stride;
    if (!is_row(chosen)) {
      const Word missing = problem_.missing;
      for (std::int64_t c = begin; c < end; ++c) to[c * target_step] = missing;
      return;
    }
    const Word* const from = problem_.source + chosen * problem_.source_row_stride;
    if (source_step != 1 || target_step != 1) {
      for (std::int64_t c = begin; c < end; ++c) to[c * target_step] = from[c * source_step];
      return;
    }
    if (streaming) {
      stream_run(to + begin, from + begin, end - begin);
    } else {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(Word));
    }
  }

  gather_problem<Word, Index> problem_;
  std::int64_t stretches_ = 1;
  std::int64_t stretch_ = 0;
  std::int64_t rows_per_block_ = 1;
  std::int64_t rows_ahead_ = 1;
  bool is_narrow_ = false;
  bool streams_runs_ = false;  ///< see stream_runs()
  bool prefetches_target_ = false;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
