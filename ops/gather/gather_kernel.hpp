// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of gather_rows. A group of a device's threads, or a host's thread, copies a stretch of a row.

#include "gather_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace prumo::detail {

/// InPacks: rows can be loaded and stored 16 bytes at a time. They are held as words of registers, because the compiler
/// would handle elements of two bytes one by one.
template <class Word, class Index, bool InPacks>
class gather_device_kernel {
  using unit = std::conditional_t<InPacks, device_pack<std::uint32_t>, Word>;
  static constexpr int unit_words = static_cast<int>(sizeof(unit) / sizeof(Word));
  /// Elements are small, so a thread needs more of them under way.
  static constexpr int loads_at_once = InPacks ? 4 : 8;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 4;

  explicit gather_device_kernel(const gather_problem<Word, Index>& problem)
      : problem_(problem), units_(problem.columns / unit_words) {
    // A row is cut into stretches that a team copies at once. Shorter rows have only as many threads as they need.
    constexpr std::int64_t most = std::int64_t{most_threads} * loads_at_once;
    stretches_ = std::max<std::int64_t>(1, (units_ + most - 1) / most);
    // Of short rows, neighbouring threads take neighbouring units.
    constexpr std::int64_t few_loads = 4;
    const std::int64_t loads = units_ <= few_loads * exchange_threads ? few_loads : loads_at_once;
    group_ = group_threads((std::min(units_, most) + loads - 1) / loads, most_threads);
  }

  std::int64_t blocks() const { return problem_.rows * stretches_; }
  std::int64_t blocks_per_team() const { return most_threads / group_; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const int groups = most_threads / group_;
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * groups;
    for (std::int64_t block = static_cast<std::int64_t>(member.league_rank()) * groups + member.team_rank() / group_;
         block < problem_.rows * stretches_; block += step) {
      copy(block, member.team_rank() & (group_ - 1));
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void copy(std::int64_t block, int lane) const {
    // A division of 64 bits would take as long as moving some elements.
    const std::int64_t row = stretches_ == 1 ? block : block / stretches_;
    const std::int64_t stretch = block - row * stretches_;
    const auto chosen = static_cast<std::int64_t>(problem_.index[row * problem_.index_stride]);
    const bool there = chosen >= 0 && chosen < problem_.source_rows;
    const Word* const from = problem_.source + (there ? chosen * problem_.source_row_stride : 0);
    Word* const to = problem_.target + row * problem_.target_row_stride;
    const std::int64_t first = stretch * most_threads * loads_at_once + lane;
    unit held[loads_at_once];
    PRUMO_UNROLL
    for (int i = 0; i < loads_at_once; ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i) * group_;
      if (at < units_ && there) held[i] = load(from, at);
    }
    PRUMO_UNROLL
    for (int i = 0; i < loads_at_once; ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i) * group_;
      if (at < units_) store(to, at, there ? held[i] : missing());
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION unit load(const Word* row, std::int64_t at) const {
    if constexpr (InPacks) {
      return reinterpret_cast<const unit*>(row)[at];
    } else {
      return row[at * problem_.source_column_stride];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void store(Word* row, std::int64_t at, const unit& value) const {
    if constexpr (InPacks) {
      reinterpret_cast<unit*>(row)[at] = value;
    } else {
      row[at * problem_.target_column_stride] = value;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION unit missing() const {
    if constexpr (InPacks) {
      unit result;
      PRUMO_UNROLL
      for (int i = 0; i < 4; ++i) {
        if constexpr (sizeof(Word) == 8) {
          result.values[i] = static_cast<std::uint32_t>(problem_.missing >> (32 * (i % 2)));
        } else if constexpr (sizeof(Word) == 4) {
          result.values[i] = problem_.missing;
        } else {
          result.values[i] = problem_.missing * std::uint32_t{0x10001};
        }
      }
      return result;
    } else {
      return problem_.missing;
    }
  }

  gather_problem<Word, Index> problem_;
  std::int64_t units_;
  std::int64_t stretches_ = 1;
  int group_ = 1;
};

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
    if (is_narrow_ && !streaming_)
      return copy_narrow_rows(first, last, last, target_row(first), problem_.target_row_stride);
    if (streams_runs_) return stream_runs(first, last);
    for (std::int64_t row = first; row < last; ++row) {
      if (row + rows_ahead_ < last) prefetch(row + rows_ahead_, begin, end);
      copy_row(row, begin, end, target_row(row), streaming_);
    }
    if (streaming_) streaming_fence();
  }

 private:
  /// The processor cannot guess which rows come next, but the indices say it. So this number of bytes is prefetched,
  /// but at most a page of each row: from there on the processor sees that the row is read in order.
  static constexpr std::int64_t bytes_ahead = 16384, bytes_of_row = 4096;
  static constexpr std::int64_t line = static_cast<std::int64_t>(streaming_unit / sizeof(Word));
  static constexpr std::size_t widest_narrow = 128;   ///< bytes of a row
  static constexpr std::size_t widest_in_runs = 256;  ///< bytes of a row; wider ones gain nothing
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
        copy_narrow_rows(begin, end, last, run, columns);
      } else {
        for (std::int64_t row = begin; row < end; ++row) {
          if (row + rows_ahead_ < last) prefetch(row + rows_ahead_, 0, columns);
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
    [&]<std::size_t... Part>(std::index_sequence<Part...>) {
      static_cast<void>(
          ((row_bytes <= 2 * Part && (copy_narrow_rows<Part>(first, last, end, to, stride), true)) || ...));
    }(std::index_sequence<1, 2, 4, 8, 16, 32, widest_narrow / 2>{});
  }

  /// Rows of Part to 2 Part bytes: two copies of Part bytes each, which may overlap.
  template <std::size_t Part>
  void copy_narrow_rows(std::int64_t first, std::int64_t last, std::int64_t end, Word* to, std::int64_t stride) const {
    const std::int64_t columns = problem_.columns;
    const std::size_t rest = static_cast<std::size_t>(columns) * sizeof(Word) - Part;
    for (std::int64_t row = first; row < last; ++row, to += stride) {
      if (row + rows_ahead_ < end) prefetch(row + rows_ahead_, 0, columns);
      const std::int64_t chosen = index_of(row);
      if (!is_row(chosen)) {
        copy_row(row, 0, columns, to, false);
        continue;
      }
      const auto* const from = reinterpret_cast<const char*>(problem_.source + chosen * problem_.source_row_stride);
      auto* const bytes = reinterpret_cast<char*>(to);
      char head[Part], tail[Part];
      std::memcpy(head, from, Part);
      std::memcpy(tail, from + rest, Part);
      std::memcpy(bytes, head, Part);
      std::memcpy(bytes + rest, tail, Part);
    }
  }

  Word* target_row(std::int64_t row) const { return problem_.target + row * problem_.target_row_stride; }

  /// Copies elements [begin, end) of the row of the source that index number `row` chooses.
  /// \param to where element 0 goes
  void copy_row(std::int64_t row, std::int64_t begin, std::int64_t end, Word* to, bool streaming) const {
    const std::int64_t chosen = index_of(row);
    // These are copies, because words may alias anything, also the members.
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
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
