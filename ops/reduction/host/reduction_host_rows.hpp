// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of reductions on the host. Long rows are cut into segments. A first kernel reduces segments to partial
/// results, and a second one combines those of each row. Short rows need one kernel only.

#include "problem/reduction_problem.hpp"
#include "reduction_host_positions.hpp"
#include "reduction_host_short_rows.hpp"
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The segments of a row. They follow from its columns alone, so results do not depend on the threads.
struct reduction_segments {
  /// Elements of a segment: enough that partial results are few, few enough that they can be shared out.
  static constexpr std::int64_t most_elements = 16384;

  std::int64_t count;   ///< 1 for a row without columns
  std::int64_t length;  ///< the last segment may be shorter

  /// Where there are few segments, two threads get equal shares: a thread with two of three segments would take 1.3
  /// times as long as one with half of the row. With more segments than needed, a row that comes from memory takes
  /// longer, because each segment waits for its first elements.
  static reduction_segments of(std::int64_t columns) {
    if (columns <= most_elements) return {1, most_elements};
    constexpr std::int64_t few = 32, together = 2, unit = 256;
    std::int64_t count = divide_up(columns, most_elements);
    if (count < few) count = round_up(count, together);
    const std::int64_t length = round_up(divide_up(columns, count), unit);
    return {divide_up(columns, length), length};
  }
};

/// The elements that `load` gives, the first of them at `position` where they have one, the next `step` further.
template <class Joining, class Load>
typename Joining::accumulator reduce_elements(const Joining& joining, std::int64_t count, const Load& load,
                                              [[maybe_unused]] std::int64_t position = 0,
                                              [[maybe_unused]] std::int64_t step = 1) {
  if constexpr (Joining::indexed) {
    auto found = find_in_stretches(joining, count, load);
    if (count > 0) found.position = position + found.position * step;
    return found;
  } else {
    return reduce_in_lanes(joining, count, load);
  }
}

/// The same of elements in memory.
template <class Policy>
typename Policy::accumulator reduce_memory(const Policy& policy, const typename Policy::stored* first,
                                           std::int64_t count, std::int64_t stride, std::int64_t position = 0,
                                           std::int64_t step = 1) {
  using stored = typename Policy::stored;
  const typename Policy::joining& joining = policy;
  if (stride == 1) {
    if constexpr (finds_extremes<Policy>) {
      if (count >= number_extremes<stored>::lanes) return reduce_extremes(policy, first, count);
    }
    if constexpr (Policy::indexed) {
      if (count >= std::max<std::int64_t>(short_rows::chained, number_extremes<stored>::lanes)) {
        auto found = find_in_memory(policy, first, count);
        found.position = position + found.position * step;
        return found;
      }
    } else if constexpr (std::is_same_v<stored, typename Policy::element>) {
      return reduce_in_lanes(joining, count, loads_from_far<neighbours<stored>>{{first}});
    } else if constexpr (Policy::lifts_to_numbers && (has_vector_widening<stored> || std::is_same_v<stored, bf16>)) {
      return reduce_in_lanes(joining, count, loads_from_far<widened_numbers<stored>>{{first}});
    }
    return reduce_elements(
        joining, count, [&](std::int64_t index) { return policy.lift(first[index]); }, position, step);
  }
  return reduce_elements(
      joining, count, [&](std::int64_t index) { return policy.lift(first[index * stride]); }, position, step);
}

/// Rows of one segment each: some of them an iteration.
template <class Policy>
class row_reduction_kernel {
  using of_short_rows = short_row_reduction<Policy>;

 public:
  using problem_type = row_reduction_problem<typename Policy::stored, typename Policy::result>;

  row_reduction_kernel(const Policy& policy, const problem_type& problem)
      : policy_(policy), problem_(problem), are_short_(of_short_rows::can_take(problem)) {
    rows_per_block_ = std::clamp<std::int64_t>(
        reduction_segments::most_elements / std::max<std::int64_t>(1, problem.columns), 1, 4096);
    // Whole groups of rows.
    if (are_short_) rows_per_block_ = rows_per_block_ / of_short_rows::multiple * of_short_rows::multiple;
  }

  std::int64_t blocks() const { return (problem_.rows + rows_per_block_ - 1) / rows_per_block_; }

  void operator()(std::int64_t block) const {
    const std::int64_t begin = block * rows_per_block_;
    const std::int64_t end = std::min(problem_.rows, begin + rows_per_block_);
    if (are_short_) return of_short_rows(policy_, problem_)(begin, end);
    const Policy policy = policy_;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto found =
          reduce_memory(policy, problem_.source + row * problem_.row_stride, problem_.columns, problem_.column_stride);
      problem_.results[row * problem_.result_stride] = policy.finish(found, problem_.columns);
    }
  }

 private:
  Policy policy_;
  problem_type problem_;
  bool are_short_;
  std::int64_t rows_per_block_;
};

/// partial[r * segments + s] = what segment s of row r amounts to.
template <class Policy>
class segment_reduction_kernel {
 public:
  using stored = typename Policy::stored;
  using accumulator = typename Policy::accumulator;
  using problem_type = row_reduction_problem<stored, typename Policy::result>;

  segment_reduction_kernel(const Policy& policy, const problem_type& problem, accumulator* partial)
      : policy_(policy), problem_(problem), segments_(reduction_segments::of(problem.columns)), partial_(partial) {}

  std::int64_t blocks() const { return problem_.rows * segments_.count; }

  void operator()(std::int64_t block) const {
    const std::int64_t row = block / segments_.count;
    const std::int64_t begin = (block - row * segments_.count) * segments_.length;
    partial_[block] =
        reduce_memory(policy_, problem_.source + row * problem_.row_stride + begin * problem_.column_stride,
                      std::min(segments_.length, problem_.columns - begin), problem_.column_stride, begin);
  }

 private:
  Policy policy_;
  problem_type problem_;
  reduction_segments segments_;
  accumulator* partial_;
};

/// What `segments` partial results amount to, the first of them at `first` and the next ones `step` further.
template <class Joining>
typename Joining::accumulator combine_partial(const Joining& joining, const typename Joining::accumulator* first,
                                              std::int64_t segments, std::int64_t step) {
  const combine_accumulators<Joining> combine{joining};
  typename Joining::accumulator found = joining.identity();
  if (segments < short_rows::chained) {
    for (std::int64_t segment = 0; segment < segments; ++segment) found = combine(found, first[segment * step]);
    return found;
  }
  return reduce_lanes(segments, found, combine, [=](std::int64_t segment) { return first[segment * step]; });
}

/// results[r * result_stride] = what partial[r * row_step + s * segment_step] amount to, over all s.
template <class Policy>
struct partial_reduction_kernel {
  using accumulator = typename Policy::accumulator;

  Policy policy;
  const accumulator* partial;
  std::int64_t rows;
  std::int64_t row_step;
  std::int64_t segments;
  std::int64_t segment_step;
  std::int64_t count;  ///< elements of a row
  typename Policy::result* results;
  std::int64_t result_stride;

  std::int64_t blocks() const { return rows; }

  void operator()(std::int64_t row) const {
    const accumulator found =
        combine_partial<typename Policy::joining>(policy, partial + row * row_step, segments, segment_step);
    results[row * result_stride] = policy.finish(found, count);
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
