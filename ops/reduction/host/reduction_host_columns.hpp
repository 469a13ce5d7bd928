// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host's kernels for what does not lie in rows: column-major matrices, whose rows lie side by side, and arrays of
/// any strides.

#include "problem/reduction_problem.hpp"
#include "reduction_host_rows.hpp"

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// How a column-major matrix is shared out: blocks of rows, so that a stretch of each column is read in order, and
/// segments of columns where there are few blocks of rows.
struct column_major_partition {
  /// A page of f32: long enough for the prefetchers, short enough that accumulators stay in the nearest cache.
  static constexpr std::int64_t most_rows = 1024;
  /// Columns that are joined before they are combined with the others, which keeps the depth low.
  static constexpr std::int64_t columns_at_once = 256;
  static constexpr std::int64_t wanted_blocks = 64;

  std::int64_t row_blocks = 1;
  std::int64_t segment = columns_at_once;
  std::int64_t segments = 1;

  static column_major_partition of(std::int64_t rows, std::int64_t columns) {
    return of_blocks((rows + most_rows - 1) / most_rows, columns);
  }

  static column_major_partition of_blocks(std::int64_t row_blocks, std::int64_t columns) {
    column_major_partition result;
    result.row_blocks = row_blocks;
    const std::int64_t wanted = (wanted_blocks + result.row_blocks - 1) / std::max<std::int64_t>(1, result.row_blocks);
    const std::int64_t even = (columns + wanted - 1) / wanted;
    result.segment = std::max<std::int64_t>(1, (even + columns_at_once - 1) / columns_at_once) * columns_at_once;
    result.segments = std::max<std::int64_t>(1, (columns + result.segment - 1) / result.segment);
    return result;
  }
};

// Some of the functions that follow are inlined by all means: as functions of their own they take up to a fifth longer.

/// joined[r] = the join of it with row r of `rows` neighbouring rows, over this many columns.
template <class Policy>
void join_columns(const Policy policy, const typename Policy::stored* source, std::int64_t rows,
                  std::int64_t column_stride, std::int64_t columns, typename Policy::accumulator* joined) {
  std::int64_t column = 0;
  // Four columns at a time: accumulators are read and written once for four elements.
  for (; column + 4 <= columns; column += 4) {
    const auto* const first = source + column * column_stride;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t row = 0; row < rows; ++row) {
      typename Policy::accumulator value = joined[row];
      PRUMO_UNROLL
      for (std::int64_t which = 0; which < 4; ++which) {
        value = policy.join(value, policy.lift(first[which * column_stride + row]));
      }
      joined[row] = value;
    }
  }
  for (; column < columns; ++column) {
    const auto* const first = source + column * column_stride;
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t row = 0; row < rows; ++row) joined[row] = policy.join(joined[row], policy.lift(first[row]));
  }
}

/// The same of positions, of which the first column's is `position` and the next one's `step` further: keys and
/// positions apart and of one width, so that both are vectorised. The columns that are taken at a time come in order,
/// so that of equals the first stays.
template <class Policy>
[[gnu::always_inline]] inline void find_in_columns(const Policy policy, const typename Policy::stored* source,
                                                   std::int64_t rows, std::int64_t column_stride, std::int64_t columns,
                                                   std::int64_t position, std::int64_t step,
                                                   typename Policy::accumulator* found) {
  using element = typename Policy::element;
  using partition = column_major_partition;
  element largest[partition::most_rows];
  element place[partition::most_rows];
  for (std::int64_t begin = 0; begin < columns; begin += partition::columns_at_once) {
    const std::int64_t end = std::min(columns, begin + partition::columns_at_once);
    const auto* first = source + begin * column_stride;
    for (std::int64_t row = 0; row < rows; ++row) {
      largest[row] = policy.lift(first[row]);
      place[row] = 0;
    }
    for (std::int64_t column = begin + 1; column < end; ++column) {
      first += column_stride;
      const auto here = static_cast<element>(column - begin);
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t row = 0; row < rows; ++row) {
        const element key = policy.lift(first[row]);
        const bool is_larger = key > largest[row];
        largest[row] = is_larger ? key : largest[row];
        place[row] = is_larger ? here : place[row];
      }
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      found[row] = policy.combine(found[row], {largest[row], position + (begin + place[row]) * step});
    }
  }
}

/// partial[s * rows + r] = what columns of segment s of row r amount to; the results themselves where there is one
/// segment.
template <class Policy>
class column_major_reduction_kernel {
 public:
  using stored = typename Policy::stored;
  using accumulator = typename Policy::accumulator;
  using problem_type = row_reduction_problem<stored, typename Policy::result>;
  using partition = column_major_partition;

  column_major_reduction_kernel(const Policy& policy, const problem_type& problem, const column_major_partition& shares,
                                accumulator* partial)
      : policy_(policy), problem_(problem), partition_(shares), partial_(partial) {}

  std::int64_t blocks() const { return partition_.row_blocks * partition_.segments; }

  void operator()(std::int64_t block) const {
    const std::int64_t segment = block / partition_.row_blocks;
    const std::int64_t begin = (block - segment * partition_.row_blocks) * partition::most_rows;
    const std::int64_t rows = std::min(partition::most_rows, problem_.rows - begin);
    const std::int64_t first_column = segment * partition_.segment;
    const std::int64_t columns = std::min(partition_.segment, problem_.columns - first_column);
    const stored* const source = problem_.source + begin + first_column * problem_.column_stride;
    accumulator found[partition::most_rows];
    if constexpr (Policy::indexed) {
      for (std::int64_t row = 0; row < rows; ++row) found[row] = policy_.identity();
      find_in_columns(policy_, source, rows, problem_.column_stride, columns, first_column, 1, found);
    } else if (const std::int64_t together = columns_together(); together > 1) {
      reduce_columns_together(source, columns, together, found);
    } else {
      reduce_columns(source, rows, problem_.column_stride, columns, found);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      if (partition_.segments > 1) {
        partial_[segment * problem_.rows + begin + row] = found[row];
      } else {
        problem_.results[(begin + row) * problem_.result_stride] = policy_.finish(found[row], problem_.columns);
      }
    }
  }

 private:
  /// Columns of few rows that lie close together are taken several at a time, a power of two, as if they were one.
  std::int64_t columns_together() const {
    std::int64_t together = 1;
    if (problem_.column_stride != problem_.rows) return together;
    while (2 * together * problem_.rows <= partition::most_rows / 2) together *= 2;
    return together;
  }

  void reduce_columns_together(const stored* source, std::int64_t columns, std::int64_t together,
                               accumulator* found) const {
    const std::int64_t rows = problem_.rows;
    const std::int64_t groups = columns / together;
    reduce_columns(source, rows * together, rows * together, groups, found);
    for (std::int64_t half = together / 2; half > 0; half /= 2) {
      for (std::int64_t at = 0; at < half * rows; ++at) found[at] = policy_.combine(found[at], found[half * rows + at]);
    }
    accumulator rest[partition::most_rows];
    reduce_columns(source + groups * together * rows, rows, rows, columns - groups * together, rest);
    for (std::int64_t row = 0; row < rows; ++row) found[row] = policy_.combine(found[row], rest[row]);
  }

  /// found[r] = row r of `rows` neighbouring rows, over this many columns.
  void reduce_columns(const stored* source, std::int64_t rows, std::int64_t column_stride, std::int64_t columns,
                      accumulator* found) const {
    const Policy policy = policy_;
    accumulator joined[partition::most_rows];
    for (std::int64_t row = 0; row < rows; ++row) found[row] = policy.identity();
    for (std::int64_t begin = 0; begin < columns; begin += partition::columns_at_once) {
      for (std::int64_t row = 0; row < rows; ++row) joined[row] = policy.identity();
      join_columns(policy, source + begin * column_stride, rows, column_stride,
                   std::min(partition::columns_at_once, columns - begin), joined);
      for (std::int64_t row = 0; row < rows; ++row) found[row] = policy.combine(found[row], joined[row]);
    }
  }

  Policy policy_;
  problem_type problem_;
  partition partition_;
  accumulator* partial_;
};

/// Calls visit(first element, length, its position) for each run of the inner loop among `count` elements of a nest,
/// from element `begin` on.
template <class Policy, class Visit>
[[gnu::always_inline]] inline void for_each_run(const reduction_nest<Policy>& nest,
                                                const typename Policy::stored* source, std::int64_t begin,
                                                std::int64_t count, const Visit& visit) {
  const int inner = nest.inner();
  std::int64_t index[max_rank] = {};
  std::int64_t rest = begin;
  for (int dimension = inner; dimension >= 0 && count > 0; --dimension) {
    index[dimension] = rest % nest.extents[dimension];
    rest /= nest.extents[dimension];
  }
  std::int64_t offset = 0;
  std::int64_t position = 0;
  const auto move = [&](int dimension, std::int64_t steps) {
    offset += steps * nest.strides[0][dimension];
    if constexpr (Policy::indexed) position += steps * nest.strides[1][dimension];
  };
  for (int dimension = 0; dimension <= inner; ++dimension) move(dimension, index[dimension]);
  while (count > 0) {
    const std::int64_t length = std::min(count, nest.extents[inner] - index[inner]);
    visit(source + offset, length, position);
    count -= length;
    // To the beginning of the next run.
    move(inner, -index[inner]);
    index[inner] = 0;
    for (int dimension = inner - 1; dimension >= 0; --dimension) {
      move(dimension, 1);
      if (++index[dimension] < nest.extents[dimension]) break;
      move(dimension, -index[dimension]);
      index[dimension] = 0;
    }
  }
}

/// Elements that are gathered before they are reduced.
inline constexpr std::int64_t gathered_at_once = 4096;

template <class Policy>
[[gnu::always_inline]] inline void gather_lifted(const Policy policy, const typename Policy::stored* first,
                                                 std::int64_t count, std::int64_t stride,
                                                 typename Policy::element* target) {
  if (stride == 1) {
    for (std::int64_t index = 0; index < count; ++index) target[index] = policy.lift(first[index]);
  } else {
    for (std::int64_t index = 0; index < count; ++index) target[index] = policy.lift(first[index * stride]);
  }
}

/// What `count` elements of a nest amount to, from element `begin` on, in the order of the loops.
template <class Policy>
[[gnu::always_inline]] inline typename Policy::accumulator reduce_nest(const Policy policy,
                                                                       const reduction_nest<Policy>& nest,
                                                                       const typename Policy::stored* source,
                                                                       std::int64_t begin, std::int64_t count) {
  using stored = typename Policy::stored;
  const std::int64_t stride = nest.strides[0][nest.inner()];
  typename Policy::accumulator found = policy.identity();
  if constexpr (Policy::indexed) {
    const std::int64_t step = nest.strides[1][nest.inner()];
    for_each_run<Policy>(nest, source, begin, count,
                         [&](const stored* first, std::int64_t length, std::int64_t position) {
                           found = policy.combine(found, reduce_memory(policy, first, length, stride, position, step));
                         });
  } else {
    // Short runs are gathered first, so that the lanes are filled.
    typename Policy::element gathered[gathered_at_once];
    std::int64_t filled = 0;
    const auto reduce_gathered = [&found, &filled, &policy, values = &gathered[0]] {
      const typename Policy::joining& joining = policy;
      found = policy.combine(found, reduce_in_lanes(joining, filled, neighbours<typename Policy::element>{values}));
      filled = 0;
    };
    for_each_run<Policy>(nest, source, begin, count, [&](const stored* first, std::int64_t length, std::int64_t) {
      while (length > 0) {
        const std::int64_t taken = std::min(length, gathered_at_once - filled);
        gather_lifted(policy, first, taken, stride, gathered + filled);
        filled += taken;
        first += taken * stride;
        length -= taken;
        if (filled == gathered_at_once) reduce_gathered();
      }
    });
    reduce_gathered();
  }
  return found;
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
