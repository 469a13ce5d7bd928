// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of reductions on the host. Long rows are cut into segments of fixed length; a first kernel reduces
/// segments to partial results, a second one combines those of each row. Short rows need one kernel only.

#include "problem/reduction_problem.hpp"
#include "reduction_host_positions.hpp"
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Elements of a segment of a long row: enough that partial results are few, few enough that they can be shared out.
inline constexpr std::int64_t reduction_segment = 16384;

/// How many segments a row of this many columns has; a row of none has one.
inline std::int64_t reduction_segments(std::int64_t columns) {
  return std::max<std::int64_t>(1, (columns + reduction_segment - 1) / reduction_segment);
}

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
      return reduce_in_lanes(joining, count, neighbours<stored>{first});
    } else if constexpr (Policy::lifts_to_numbers && (has_vector_widening<stored> || std::is_same_v<stored, bf16>)) {
      return reduce_in_lanes(joining, count, widened_numbers<stored>{first});
    }
    return reduce_elements(
        joining, count, [&](std::int64_t index) { return policy.lift(first[index]); }, position, step);
  }
  return reduce_elements(
      joining, count, [&](std::int64_t index) { return policy.lift(first[index * stride]); }, position, step);
}

/// The elements of a short row. The type is another one for each number of columns: a function that only one loop over
/// rows calls is compiled into it, and the loop is vectorised.
template <class Element, std::int64_t Columns>
struct row_elements {
  const Element* first;
  Element operator()(std::int64_t index) const { return first[index]; }
};

/// to[r * stride] = the result of row r of `rows` rows, which lie one behind the other. They have `Columns` elements,
/// or `given_columns` if `Columns` is 0.
template <std::int64_t Columns, class Shared>
void reduce_rows_of(const Shared policy, const typename Shared::element* elements, std::int64_t rows,
                    std::int64_t given_columns, typename Shared::result* to, std::int64_t stride) {
  const std::int64_t columns = Columns > 0 ? Columns : given_columns;
  const typename Shared::joining& joining = policy;
  PRUMO_INDEPENDENT_ITERATIONS
  for (std::int64_t row = 0; row < rows; ++row) {
    const row_elements<typename Shared::element, Columns> own{elements + row * columns};
    const auto found = reduce_elements(joining, columns, own);
    to[row * stride] = policy.finish(found, columns);
  }
}

/// The same of any number of columns, for rows too short for all lanes.
template <class Shared>
void reduce_short_rows(const Shared& policy, const typename Shared::element* elements, std::int64_t rows,
                       std::int64_t columns, typename Shared::result* to, std::int64_t stride) {
  const bool done = [&]<std::int64_t... Columns>(std::integer_sequence<std::int64_t, Columns...>) {
    return ((columns == Columns && (reduce_rows_of<Columns>(policy, elements, rows, columns, to, stride), true)) ||
            ...);
  }(std::make_integer_sequence<std::int64_t, short_rows::chained>{});
  if (!done) reduce_rows_of<0>(policy, elements, rows, columns, to, stride);
}

/// Rows of one segment each: some of them an iteration.
template <class Policy>
class row_reduction_kernel {
 public:
  using stored = typename Policy::stored;
  using result = typename Policy::result;
  using problem_type = row_reduction_problem<stored, result>;

  row_reduction_kernel(const Policy& policy, const problem_type& problem) : policy_(policy), problem_(problem) {
    rows_per_block_ = std::clamp<std::int64_t>(reduction_segment / std::max<std::int64_t>(1, problem.columns), 1, 4096);
  }

  std::int64_t blocks() const { return (problem_.rows + rows_per_block_ - 1) / rows_per_block_; }

  void operator()(std::int64_t block) const {
    const std::int64_t begin = block * rows_per_block_;
    const std::int64_t end = std::min(problem_.rows, begin + rows_per_block_);
    if (problem_.column_stride == 1 && problem_.row_stride == problem_.columns && problem_.columns > 0 &&
        problem_.columns < short_longest()) {
      reduce_short(begin, end);
      return;
    }
    const Policy policy = policy_;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto found =
          reduce_memory(policy, problem_.source + row * problem_.row_stride, problem_.columns, problem_.column_stride);
      problem_.results[row * problem_.result_stride] = policy.finish(found, problem_.columns);
    }
  }

 private:
  using element = typename Policy::element;
  using shared_policy = std::remove_cvref_t<decltype(std::declval<const Policy&>().shared())>;
  static constexpr std::int64_t lifted_at_once = 2048;

  /// Where rows are no longer short.
  static constexpr std::int64_t short_longest() {
    if constexpr (finds_extremes<Policy>) {
      return number_extremes<stored>::lanes;
    } else {
      return short_rows::longest<element>;
    }
  }

  /// Short rows that lie one behind the other: those that fit into a buffer are lifted by one vectorised loop, which a
  /// loop over each row's few elements would not be.
  void reduce_short(std::int64_t begin, std::int64_t end) const {
    const Policy policy = policy_;
    const std::int64_t columns = problem_.columns;
    const std::int64_t stride = problem_.result_stride;
    if constexpr (std::is_same_v<stored, element>) {
      reduce_short_rows(policy.shared(), problem_.source + begin * columns, end - begin, columns,
                        problem_.results + begin * stride, stride);
    } else if (columns == 1 && !Policy::indexed) {
      reduce_single_elements(policy, problem_.source + begin, end - begin, problem_.results + begin * stride);
    } else {
      element lifted[lifted_at_once];
      const std::int64_t rows_at_once = lifted_at_once / columns;
      for (std::int64_t first = begin; first < end; first += rows_at_once) {
        const std::int64_t rows = std::min(rows_at_once, end - first);
        const stored* const source = problem_.source + first * columns;
        for (std::int64_t index = 0; index < rows * columns; ++index) lifted[index] = policy.lift(source[index]);
        reduce_lifted(policy, lifted, rows, problem_.results + first * stride);
      }
    }
  }

  void reduce_lifted(const Policy policy, const element* lifted, std::int64_t rows, result* results) const {
    const std::int64_t columns = problem_.columns;
    const std::int64_t stride = problem_.result_stride;
    if constexpr (std::is_same_v<result, typename shared_policy::result>) {
      reduce_short_rows(policy.shared(), lifted, rows, columns, results, stride);
    } else {
      typename shared_policy::result found[lifted_at_once];
      reduce_short_rows(policy.shared(), lifted, rows, columns, found, 1);
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t row = 0; row < rows; ++row) results[row * stride] = policy.finish_shared(found[row]);
    }
  }

  void reduce_single_elements(const Policy policy, const stored* source, std::int64_t rows, result* results) const {
    const std::int64_t stride = problem_.result_stride;
    if constexpr (finds_extremes<Policy> && !Policy::indexed && std::is_same_v<stored, result>) {
      // A number that is alone is the extreme, and need not be rounded.
      if (stride == 1) {
        std::copy_n(source, rows, results);
      } else {
        for (std::int64_t row = 0; row < rows; ++row) results[row * stride] = source[row];
      }
    } else if constexpr (!Policy::indexed) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t row = 0; row < rows; ++row) {
        results[row * stride] = policy.finish(policy.join(policy.identity(), policy.lift(source[row])), 1);
      }
    }
  }

  Policy policy_;
  problem_type problem_;
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
      : policy_(policy), problem_(problem), segments_(reduction_segments(problem.columns)), partial_(partial) {}

  std::int64_t blocks() const { return problem_.rows * segments_; }

  void operator()(std::int64_t block) const {
    const std::int64_t row = block / segments_;
    const std::int64_t begin = (block - row * segments_) * reduction_segment;
    partial_[block] =
        reduce_memory(policy_, problem_.source + row * problem_.row_stride + begin * problem_.column_stride,
                      std::min(reduction_segment, problem_.columns - begin), problem_.column_stride, begin);
  }

 private:
  Policy policy_;
  problem_type problem_;
  std::int64_t segments_;
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
