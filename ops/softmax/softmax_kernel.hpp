// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host kernels of softmax for rows that are worth a vector each. A row of one chunk is read once and kept in the
/// nearest cache. A longer one is cut into segments, whose maxima and sums are found first, and is then read again: all
/// of that by one thread, or, where rows are few, segments shared out to all. Either way a row's bits are the same.

#include "softmax_formula.hpp"
#include "softmax_problem.hpp"
#include "softmax_reductions.hpp"
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Columns that are taken at a time. A row of one chunk keeps its exponentials; a longer one computes them twice, which
/// costs less than writing and reading them.
inline constexpr std::int64_t softmax_chunk = 4096;
/// The statistics of a row, at most: every thread that writes a part of it joins them all.
inline constexpr std::int64_t softmax_most_segments = 1024;

/// Elements of a segment of a row of this many columns.
inline std::int64_t softmax_segment(std::int64_t columns) {
  constexpr std::int64_t shortest = 4 * softmax_chunk;
  const std::int64_t wanted = (columns + softmax_most_segments - 1) / softmax_most_segments;
  return std::max(shortest, (wanted + softmax_chunk - 1) / softmax_chunk * softmax_chunk);
}
inline std::int64_t softmax_segments(std::int64_t columns) {
  return columns <= softmax_chunk ? 1 : (columns + softmax_segment(columns) - 1) / softmax_segment(columns);
}

/// What is done with one row; Stride is that of its columns.
template <class T, class Formula>
class softmax_row {
 public:
  using C = compute_t<T>;

  softmax_row(const softmax_problem<T>& problem, std::int64_t row, bool streaming)
      : source_(problem.source + row * problem.source_row_stride),
        target_(problem.target + row * problem.target_row_stride),
        source_stride_(problem.source_column_stride),
        target_stride_(problem.target_column_stride),
        streaming_(streaming) {}

  /// The whole of a row of one chunk. `ahead`: what will be wanted next, or null.
  void finish_short(std::int64_t columns, const T* ahead) const {
    alignas(streaming_unit) C kept[softmax_chunk];
    C shift = C(0);
    const C total = with_values(0, columns, kept, [&](const auto& value) {
      shift = softmax_shift(softmax_maximum<C>(columns, value));
      const auto term = [=, shift = shift, &kept](std::int64_t i) {
        const C x = value(i);
        const C exponential = exp_of_nonpositive(x - shift);
        kept[i] = Formula::keeps_exponentials ? exponential : x;
        return exponential;
      };
      return softmax_sum<C>(columns, term, [=](std::int64_t i) {
        if (ahead != nullptr) prefetch(ahead + i);
      });
    });
    const C factor = Formula::row_factor(total);
    write(0, columns, [=, &kept](std::int64_t i) { return Formula::from_kept(kept[i], shift, factor); });
  }

  /// Statistics of the columns begin ... end - 1, chunk by chunk.
  softmax_statistics<C> statistics(std::int64_t begin, std::int64_t end) const {
    softmax_statistics<C> found{softmax_lowest<C>(), C(0)};
    for (std::int64_t at = begin; at < end; at += softmax_chunk) {
      const std::int64_t length = std::min(softmax_chunk, end - at);
      alignas(streaming_unit) C widened[softmax_chunk];
      found = with_values(at, length, widened, [&](const auto& value) {
        const C maximum = softmax_larger(found.maximum, softmax_maximum<C>(length, value));
        const C shift = softmax_shift(maximum);
        const C sum = softmax_sum<C>(length, [=](std::int64_t i) { return exp_of_nonpositive(value(i) - shift); });
        // What was added up under the old maximum is scaled to the new one.
        return softmax_statistics<C>{maximum, prumo::fma(found.total, exp_of_nonpositive(found.maximum - shift), sum)};
      });
    }
    return found;
  }

  /// Writes the columns begin ... end - 1 of a row with these statistics.
  void write_values(std::int64_t begin, std::int64_t end, const softmax_statistics<C>& of_row) const {
    const C shift = softmax_shift(of_row.maximum);
    const C factor = Formula::row_factor(of_row.total);
    // What is not widened first need not be written in chunks, each of which may begin and end within a line.
    const std::int64_t step = has_vector_widening<T> ? softmax_chunk : std::max<std::int64_t>(1, end - begin);
    alignas(streaming_unit) C widened[softmax_chunk];
    for (std::int64_t at = begin; at < end; at += step) {
      const std::int64_t length = std::min(step, end - at);
      with_values(at, length, widened, [&](const auto& value) {
        write(at, at + length, [=](std::int64_t i) { return Formula::from_value(value(i - at), shift, factor); });
        return 0;
      });
    }
  }

  /// The statistics of a row from those of its segments.
  static softmax_statistics<C> join(const softmax_statistics<C>* segments, std::int64_t count) {
    C maximum = softmax_lowest<C>();
    for (std::int64_t i = 0; i < count; ++i) maximum = softmax_larger(maximum, segments[i].maximum);
    const C shift = softmax_shift(maximum);
    const C total = softmax_sum<C>(
        count, [=](std::int64_t i) { return segments[i].total * exp_of_nonpositive(segments[i].maximum - shift); });
    return {maximum, total};
  }

 private:
  struct unit_stride {
    std::int64_t operator*() const { return 1; }
  };
  struct any_stride {
    std::int64_t value;
    std::int64_t operator*() const { return value; }
  };
  /// Calls `work` with a function that gives the numbers of the columns from `begin` on, up to `length` of them: with a
  /// stride that the compiler knows to be 1 where it is, or from `widened`, where they were put before.
  template <class Work>
  auto with_values(std::int64_t begin, [[maybe_unused]] std::int64_t length, [[maybe_unused]] C* widened,
                   const Work& work) const {
    const auto of = [&](auto stride) {
      return [source = source_ + begin * *stride, stride](std::int64_t i) { return load(source[i * *stride]); };
    };
    if (source_stride_ != 1) return work(of(any_stride{source_stride_}));
    if constexpr (has_vector_widening<T>) {
      widen(source_ + begin, widened, length);
      return work([widened](std::int64_t i) { return widened[i]; });
    } else {
      return work(of(unit_stride{}));
    }
  }

  /// Asks for what softmax_sum() takes at a time.
  static void prefetch([[maybe_unused]] const T* address) {
#if defined(__GNUC__)
    constexpr std::size_t line = 64;
    const auto* const bytes = reinterpret_cast<const char*>(address);
    for (std::size_t at = 0; at < softmax_lanes<C> * sizeof(T); at += line) __builtin_prefetch(bytes + at);
#endif
  }

  /// target[i] = value(i) for the columns begin ... end - 1.
  template <class Value>
  void write(std::int64_t begin, std::int64_t end, const Value& value) const {
    if (target_stride_ != 1) {
      for (std::int64_t i = begin; i < end; ++i) target_[i * target_stride_] = static_cast<T>(value(i));
      return;
    }
    T* const target = target_;
    std::int64_t at = begin;
    if (streaming_) {
      const auto address = reinterpret_cast<std::uintptr_t>(target + begin);
      const auto beyond = static_cast<std::int64_t>(address % streaming_unit / sizeof(T));
      const std::int64_t lead = beyond == 0 ? 0 : static_cast<std::int64_t>(streaming_unit / sizeof(T)) - beyond;
      at = std::min(end, begin + lead);
      write_run(begin, at - begin, target + begin, value);
      for (; at + two_lines <= end; at += two_lines) {
        alignas(streaming_unit) T lines[two_lines];
        write_run(at, two_lines, lines, value);
        stream_bytes(target + at, lines, sizeof(lines));
      }
    }
    if constexpr (has_vector_narrowing<T>) {
      for (; at + two_lines <= end; at += two_lines) write_run(at, two_lines, target + at, value);
    }
    write_run(at, end - at, target + at, value);
  }

  using two_lines_type = std::integral_constant<std::int64_t, 2 * streaming_unit / sizeof(T)>;
  static constexpr two_lines_type two_lines{};

  /// to[i] = value(begin + i) for i < count; two lines at most where numbers are narrowed.
  template <class Count, class Value>
  static void write_run(std::int64_t begin, Count count, T* to, const Value& value) {
    compute_stretch<two_lines>(count, to, [&](std::int64_t i) { return value(begin + i); });
  }

  const T* source_;
  T* target_;
  std::int64_t source_stride_;
  std::int64_t target_stride_;
  bool streaming_;
};

/// Whole rows, several to a block: each block of streamed stores ends in a fence that waits for memory.
template <class T, class Formula>
class softmax_host_kernel {
  using C = compute_t<T>;

 public:
  softmax_host_kernel(const softmax_problem<T>& problem, std::int64_t workers, bool streaming)
      : problem_(problem), streaming_(streaming) {
    constexpr std::int64_t most_elements = 65536, blocks_per_worker = 16;
    rows_per_block_ = std::clamp<std::int64_t>(problem.rows / (workers * blocks_per_worker), 1,
                                               std::max<std::int64_t>(1, most_elements / (problem.columns + 1)));
  }

  std::int64_t blocks() const {
    return problem_.columns == 0 ? 0 : (problem_.rows + rows_per_block_ - 1) / rows_per_block_;
  }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(problem_.rows, (block + 1) * rows_per_block_);
    for (std::int64_t row = block * rows_per_block_; row < end; ++row) finish_row(row);
    if (streaming_) streaming_fence();
  }

 private:
  void finish_row(std::int64_t row) const {
    const softmax_row<T, Formula> of_row(problem_, row, streaming_);
    const std::int64_t columns = problem_.columns;
    if (columns <= softmax_chunk) {
      // While a row is computed the next one can be on its way: nothing but arithmetic is going on.
      const bool next = problem_.source_column_stride == 1 && row + 1 < problem_.rows;
      of_row.finish_short(columns, next ? problem_.source + (row + 1) * problem_.source_row_stride : nullptr);
      return;
    }
    softmax_statistics<C> segments[softmax_most_segments];
    const std::int64_t segment = softmax_segment(columns);
    const std::int64_t count = softmax_segments(columns);
    for (std::int64_t i = 0; i < count; ++i) {
      segments[i] = of_row.statistics(i * segment, std::min(columns, (i + 1) * segment));
    }
    of_row.write_values(0, columns, of_row.join(segments, count));
  }

  softmax_problem<T> problem_;
  std::int64_t rows_per_block_;
  bool streaming_;
};

/// partial[r * segments + s] = the statistics of segment s of row r.
template <class T, class Formula>
struct softmax_host_statistics_kernel {
  softmax_problem<T> problem;
  softmax_statistics<compute_t<T>>* partial;

  std::int64_t blocks() const { return problem.rows * softmax_segments(problem.columns); }

  void operator()(std::int64_t block) const {
    const std::int64_t row = block / softmax_segments(problem.columns);
    const std::int64_t begin = (block - row * softmax_segments(problem.columns)) * softmax_segment(problem.columns);
    const std::int64_t end = std::min(problem.columns, begin + softmax_segment(problem.columns));
    partial[block] = softmax_row<T, Formula>(problem, row, false).statistics(begin, end);
  }
};

/// Writes a segment of a row, whose segments' statistics are known.
template <class T, class Formula>
struct softmax_host_write_kernel {
  softmax_problem<T> problem;
  const softmax_statistics<compute_t<T>>* partial;
  bool streaming;

  std::int64_t blocks() const { return problem.rows * softmax_segments(problem.columns); }

  void operator()(std::int64_t block) const {
    const std::int64_t segments = softmax_segments(problem.columns);
    const std::int64_t row = block / segments;
    const std::int64_t begin = (block - row * segments) * softmax_segment(problem.columns);
    const std::int64_t end = std::min(problem.columns, begin + softmax_segment(problem.columns));
    const softmax_row<T, Formula> of_row(problem, row, streaming);
    of_row.write_values(begin, end, of_row.join(partial + row * segments, segments));
    if (streaming) streaming_fence();
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
