// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host kernels of softmax for rows that are worth a vector each. A row of few chunks is read once and kept in the
/// nearest caches. A longer one is cut into segments, whose maxima and sums are found first, and is then read again:
/// all of that by one thread, or, where rows are few, segments shared out to all. Either way a row's bits are the same.

#include "problem/softmax_formula.hpp"
#include "problem/softmax_problem.hpp"
#include "softmax_row_group.hpp"
#include "softmax_row_stretch.hpp"
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Columns that are taken at a time.
inline constexpr std::int64_t softmax_chunk = 4096;
/// Columns of a row of T that is taken at once, at most. If the formula needs exponentials again, a row of several
/// chunks keeps them, in the second cache: 256 KiB, or 1 MiB for numbers of 16 bits, which take longer to convert than
/// to read. A longer row computes them twice.
template <class Formula, class T>
inline constexpr std::int64_t softmax_row_at_once =
    Formula::keeps_exponentials
        ? (sizeof(T) == 2 ? std::int64_t{1 << 20} : std::int64_t{1 << 18}) / sizeof(plain_scalar_t<compute_t<T>>)
        : softmax_chunk;
/// Columns of such a row whose exponentials are added up in one go, at most, because errors grow with a sum's length.
inline constexpr std::int64_t softmax_most_in_sum = 4 * softmax_chunk;
inline constexpr std::int64_t softmax_sums_of_row(std::int64_t columns) {
  return (columns + softmax_most_in_sum - 1) / softmax_most_in_sum;
}
/// Memory of the calling thread for a long row, which would not fit the stacks of threads on some systems. The thread
/// keeps the memory for the next row. Each use has memory of its own.
template <class Element, int Use>
Element* softmax_memory_of_thread(std::int64_t count) {
  thread_local std::vector<Element> memory;
  if (std::ssize(memory) < count) memory.resize(static_cast<std::size_t>(count));
  return memory.data();
}

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
      : softmax_row(problem, row, problem.target + row * problem.target_row_stride, streaming) {}
  /// \param target where the row goes, with the strides of the problem's columns
  softmax_row(const softmax_problem<T>& problem, std::int64_t row, T* target, bool streaming)
      : source_(problem.source + row * problem.source_row_stride),
        target_(target),
        source_stride_(problem.source_column_stride),
        target_stride_(problem.target_column_stride),
        streaming_(streaming) {}

  /// The whole of a row of softmax_row_at_once columns at most. `ahead`: what will be wanted next, or null. `far`:
  /// whether the target is not in a near cache.
  void finish_short(std::int64_t columns, const T* ahead, bool far) const {
    const softmax_prefetch<T> ask{ahead, far && target_stride_ == 1 && !streaming_ ? target_ : nullptr};
    with_neighbours<softmax_row_at_once<Formula, T>>(
        0, columns, [=, this](const T* source) { finish_neighbours(source, columns, ask); });
  }

  /// Statistics of the columns begin ... end - 1, chunk by chunk. While the exponentials of a chunk are computed the
  /// next one is on its way.
  softmax_statistics<C> statistics(std::int64_t begin, std::int64_t end) const {
    softmax_statistics<C> found{softmax_lowest<C>(), C(0)};
    for (std::int64_t at = begin; at < end; at += softmax_chunk) {
      const std::int64_t length = std::min(softmax_chunk, end - at);
      const T* const ahead = source_stride_ == 1 && at + softmax_chunk < end ? source_ + at + softmax_chunk : nullptr;
      with_neighbours<softmax_chunk>(
          at, length, [&found, length, ahead](const T* source) { add_to(found, source, length, ahead); });
    }
    return found;
  }

  /// Writes the columns begin ... end - 1 of a row with these statistics.
  void write_values(std::int64_t begin, std::int64_t end, const softmax_statistics<C>& of_row) const {
    const from_value formula{softmax_shift(of_row.maximum), Formula::row_factor(of_row.total)};
    if (source_stride_ == 1) return write(begin, end, source_ + begin, formula);
    for (std::int64_t at = begin; at < end; at += softmax_chunk) {
      const std::int64_t length = std::min(softmax_chunk, end - at);
      with_neighbours<softmax_chunk>(at, length, [&](const T* source) { write(at, at + length, source, formula); });
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
  /// Uses of a thread's memory.
  enum { kept_exponentials, gathered_elements };

  /// The last step, for numbers and for vectors.
  struct from_kept {
    static constexpr bool takes_vectors = true;
    C shift, factor;
    template <class V>
    [[gnu::always_inline]] V operator()(V exponential) const {
      return Formula::from_kept(exponential, V(shift), V(factor));
    }
  };
  struct from_value {
    static constexpr bool takes_vectors = true;
    static constexpr double host_nanoseconds = Formula::keeps_exponentials ? 0.25 : 0;
    C shift, factor;
    template <class V>
    [[gnu::always_inline]] V operator()(V x) const {
      return Formula::from_value(x, V(shift), V(factor));
    }
  };

  /// Calls work(address) for up to `Most` neighbouring columns: where they are, or gathered from a row with gaps.
  template <std::int64_t Most, class Work>
  void with_neighbours(std::int64_t column, std::int64_t count, const Work& work) const {
    const T* const first = source_ + column * source_stride_;
    if (source_stride_ == 1) return work(first);
    const auto gather = [&](T* to) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = first[i * source_stride_];
      work(to);
    };
    if constexpr (Most > softmax_most_in_sum) {
      if (count > softmax_most_in_sum) return gather(softmax_memory_of_thread<T, gathered_elements>(count));
    }
    // The constructors of 16-bit numbers clear this array, so it is not there for rows without gaps.
    T gathered[std::min(Most, softmax_most_in_sum)];
    gather(gathered);
  }

  [[gnu::noinline]] void finish_neighbours(const T* source, std::int64_t columns,
                                           const softmax_prefetch<T>& ask) const {
    const softmax_row_stretch<T> values(source, columns);
    const C shift = softmax_shift(values.maximum());
    if constexpr (Formula::keeps_exponentials) {
      if constexpr (std::is_same_v<T, C>) {
        if (may_keep_in_target(columns)) return finish_kept(values, source, columns, shift, target_, ask);
      }
      if (columns > softmax_most_in_sum) {
        return finish_kept(values, source, columns, shift, softmax_memory_of_thread<C, kept_exponentials>(columns),
                           ask);
      }
      alignas(streaming_unit) C kept[softmax_most_in_sum + softmax_row_stretch<T>::most_added];
      finish_kept(values, source, columns, shift, kept, ask);
    } else {
      const C factor = Formula::row_factor(values.template sum_of_exponentials<false>(shift, nullptr, ask));
      write(0, columns, source, from_value{shift, factor});
    }
  }

  /// Whether exponentials are kept where the results go. A row that fits the nearest cache is faster with an array of
  /// its own. In place, the last vector of a stretch would read what was written by the one before it.
  bool may_keep_in_target(std::int64_t columns) const {
    constexpr std::int64_t shortest = 16384 / sizeof(T);
    return columns >= shortest && target_stride_ == 1 && !streaming_ && target_ != source_;
  }

  /// \param values the whole row
  /// \param kept room for the row or, if this is shorter, for a vector
  void finish_kept(const softmax_row_stretch<T>& values, const T* source, std::int64_t columns, C shift, C* kept,
                   const softmax_prefetch<T>& ask) const {
    const C total = columns <= softmax_most_in_sum ? values.template sum_of_exponentials<true>(shift, kept, ask)
                                                   : sum_of_several(source, columns, shift, kept, ask);
    write(0, columns, static_cast<const C*>(kept), from_kept{shift, Formula::row_factor(total)});
  }

  /// The sum of a row's exponentials from several sums. These are equally long, so that the last one takes a vector,
  /// too.
  [[gnu::noinline]] static C sum_of_several(const T* source, std::int64_t columns, C shift, C* kept,
                                            const softmax_prefetch<T>& ask) {
    constexpr std::int64_t unit = softmax_lanes<C> * 2;
    const std::int64_t units = softmax_sums_of_row(columns) * unit;
    const std::int64_t length = (columns + units - 1) / units * unit;
    C total = softmax_row_stretch<T>(source, length).template sum_of_exponentials<true>(shift, kept, ask);
    for (std::int64_t at = length; at < columns; at += length) {
      const softmax_row_stretch<T> values(source + at, std::min(length, columns - at));
      total = total + values.template sum_of_exponentials<true>(shift, kept + at, ask.from(at));
    }
    return total;
  }

  [[gnu::noinline]] static void add_to(softmax_statistics<C>& found, const T* source, std::int64_t length,
                                       const T* ahead) {
    const softmax_row_stretch<T> values(source, length);
    const C maximum = softmax_larger(found.maximum, values.maximum());
    const C shift = softmax_shift(maximum);
    const C sum = values.template sum_of_exponentials<false>(shift, nullptr, softmax_prefetch<T>{ahead, nullptr});
    // What was added up under the old maximum is scaled to the new one.
    found = {maximum, prumo::fma(found.total, exp_of_nonpositive(found.maximum - shift), sum)};
  }

  /// target[i] = formula(from[i - begin]) for the columns begin ... end - 1.
  template <class Element, class Last>
  void write(std::int64_t begin, std::int64_t end, const Element* from, const Last& formula) const {
    const std::int64_t count = end - begin;
    T* const target = target_ + begin * target_stride_;
    if (target_stride_ != 1) {
      for (std::int64_t i = 0; i < count; ++i) target[i * target_stride_] = static_cast<T>(formula(load(from[i])));
      return;
    }
    const contiguous_elements<Last, T, Element> elements(formula, {target}, {from});
    if (streaming_ && elements.can_stream()) {
      elements.write_streaming(0, count);
    } else {
      elements.write_cached(0, count);
    }
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
      : problem_(problem), far_(problem.is_far()), streaming_(streaming && may_stream(problem)) {
    constexpr std::int64_t most_elements = 65536, blocks_per_worker = 16;
    rows_per_block_ = std::clamp<std::int64_t>(problem.rows / (workers * blocks_per_worker), 1,
                                               std::max<std::int64_t>(1, most_elements / (problem.columns + 1)));
    const bool have_no_gaps = problem.target_column_stride == 1 && problem.target_row_stride == problem.columns;
    const auto row_bytes = static_cast<std::size_t>(problem.columns) * sizeof(T);
    const bool share_lines = row_bytes % streaming_unit != 0 && row_bytes <= widest_in_runs;
    const bool runs_pay = have_no_gaps && (share_lines || row_bytes <= widest_alone_in_runs);
    in_groups_ = group::can_take(problem) && (!streaming_ || runs_pay);
    if (in_groups_) rows_per_block_ = (rows_per_block_ + group::rows - 1) / group::rows * group::rows;
    if (streaming_ && runs_pay && (in_groups_ || share_lines)) {
      rows_of_run_ = in_groups_ ? group::rows : elements_of_run / problem.columns;
    }
  }

  std::int64_t blocks() const {
    return problem_.columns == 0 ? 0 : (problem_.rows + rows_per_block_ - 1) / rows_per_block_;
  }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(problem_.rows, (block + 1) * rows_per_block_);
    const std::int64_t begin = block * rows_per_block_, stride = problem_.target_row_stride;
    if (rows_of_run_ > 0) {
      stream_runs(begin, end);
    } else {
      finish_rows(begin, end, {problem_.target + begin * stride, stride, far_, streaming_});
    }
    if (streaming_) streaming_fence();
  }

 private:
  using group = softmax_row_group<T, Formula>;
  /// Whether rows may be written past the caches. A Zen 4 takes 1.2 to 1.35 times as long with such stores if rows have
  /// 129 to 1,000 f32, and 0.8 times as long if they have 3,000. An Intel Skylake takes 1.1 to 1.5 times as long,
  /// whatever the length of rows.
  static bool may_stream(const softmax_problem<T>& problem) {
    if (compiled_for_skylake) return false;
    constexpr std::size_t widest = 8192;
    const auto row_bytes = static_cast<std::size_t>(problem.columns) * sizeof(T);
    return !streams_few_lines_slowly || row_bytes % streaming_unit == 0 || row_bytes > widest;
  }

  /// Where the results of some rows go.
  struct rows_of_target {
    T* first;
    std::int64_t stride;
    bool far, streaming;
  };

  /// Rows that follow each other in the target. Where one ends within a cache line, the next one begins there, so they
  /// are streamed together from a copy in the nearest cache.
  void stream_runs(std::int64_t begin, std::int64_t end) const {
    // The constructors of 16-bit numbers would clear an array of them.
    alignas(streaming_unit) std::byte memory[elements_of_run * sizeof(T)];
    T* const run = reinterpret_cast<T*>(memory);
    const std::int64_t columns = problem_.columns;
    for (std::int64_t row = begin; row < end; row += rows_of_run_) {
      const std::int64_t last = std::min(end, row + rows_of_run_);
      finish_rows(row, last, {run, columns, false, false});
      stream_run(problem_.target + row * columns, static_cast<const T*>(run), (last - row) * columns);
    }
  }

  void finish_rows(std::int64_t begin, std::int64_t end, const rows_of_target& to) const {
    std::int64_t row = begin;
    if constexpr (group::on_vectors) {
      for (; in_groups_ && row + group::rows <= end; row += group::rows) {
        const bool ahead = row + 2 * group::rows <= problem_.rows;
        group(problem_).finish(row, ahead, to.far, to.first + (row - begin) * to.stride, to.stride);
      }
    }
    for (; row < end; ++row) finish_row(row, to.first + (row - begin) * to.stride, to.far, to.streaming);
  }

  void finish_row(std::int64_t row, T* target, bool far, bool streaming) const {
    const softmax_row<T, Formula> of_row(problem_, row, target, streaming);
    const std::int64_t columns = problem_.columns;
    if (columns <= softmax_row_at_once<Formula, T>) {
      // While a row is computed the next one can be on its way: nothing but arithmetic is going on.
      const bool next = problem_.source_column_stride == 1 && row + 1 < problem_.rows;
      of_row.finish_short(columns, next ? problem_.source + (row + 1) * problem_.source_row_stride : nullptr, far);
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

  /// Bytes of a row. Wider ones have enough lines of their own.
  static constexpr std::size_t widest_in_runs = 2048;
  /// The same of rows that share no lines. A Zen 3 took 10 to 25 % less time for up to 1 KiB in runs of groups, and 3
  /// to 9 % more for 1.5 and 2 KiB.
  static constexpr std::size_t widest_alone_in_runs = 1024;
  static constexpr std::int64_t elements_of_run = 4096;
  static_assert(group::most_elements <= elements_of_run);

  softmax_problem<T> problem_;
  std::int64_t rows_per_block_;
  std::int64_t rows_of_run_ = 0;  ///< 0: rows go to the target one by one
  bool in_groups_ = false;
  bool far_;
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
