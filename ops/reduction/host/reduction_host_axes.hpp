// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host's kernels for reductions over any set of axes, where the dimensions that stay and those that are reduced do
/// not merge into the rows or columns of a matrix.

#include "problem/reduction_problem.hpp"
#include "reduction_host_columns.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Results whose elements lie one after the other in order of x: each over segments of what is reduced.
/// An array of any strides that is reduced whole is one result.
template <class Policy>
class axes_reduction_kernel {
 public:
  using problem_type = axes_reduction_problem<Policy>;
  using stored = typename Policy::stored;
  using accumulator = typename Policy::accumulator;

  axes_reduction_kernel(const Policy& policy, const problem_type& problem, accumulator* partial)
      : policy_(policy),
        problem_(problem),
        results_(problem.kept.size()),
        segment_length_(reduction_segments::of(problem.reduced.size()).length),
        partial_(partial) {}

  static std::int64_t segments_of(const problem_type& problem) {
    return reduction_segments::of(problem.reduced.size()).count;
  }
  std::int64_t blocks() const { return results_ * segments_of(problem_); }

  void operator()(std::int64_t block) const {
    const std::int64_t segment = block / results_;
    const std::int64_t which = block - segment * results_;
    const auto place = problem_.place_of(which);
    const std::int64_t count = problem_.reduced.size();
    const std::int64_t begin = segment * segment_length_;
    const Policy policy = policy_;
    const accumulator found = reduce_nest(policy, problem_.reduced, problem_.source + place.source, begin,
                                          std::min(segment_length_, count - begin));
    if (partial_ != nullptr) {
      partial_[block] = found;
    } else {
      problem_.results[place.result] = policy.finish(found, count);
    }
  }

 private:
  Policy policy_;
  problem_type problem_;
  std::int64_t results_;
  std::int64_t segment_length_;
  accumulator* partial_;
};

/// Results that lie side by side in x: neighbours are reduced together, so that memory is read in order.
template <class Policy>
class neighbours_reduction_kernel {
 public:
  using problem_type = axes_reduction_problem<Policy>;
  using stored = typename Policy::stored;
  using accumulator = typename Policy::accumulator;
  using partition = column_major_partition;

  neighbours_reduction_kernel(const Policy& policy, const problem_type& problem, const partition& shares,
                              accumulator* partial)
      : policy_(policy), problem_(problem), partition_(shares), results_(problem.kept.size()), partial_(partial) {}

  static partition shares_of(const problem_type& problem) {
    const std::int64_t neighbours = problem.kept.extents[problem.kept.inner()];
    return partition::of_blocks(problem.kept.size() / neighbours * blocks_of(neighbours), problem.reduced.size());
  }
  std::int64_t blocks() const { return partition_.row_blocks * partition_.segments; }

  void operator()(std::int64_t block) const {
    const std::int64_t neighbours = problem_.kept.extents[problem_.kept.inner()];
    const std::int64_t segment = block / partition_.row_blocks;
    const std::int64_t row_block = block - segment * partition_.row_blocks;
    const std::int64_t outer = row_block / blocks_of(neighbours);
    const std::int64_t begin = (row_block - outer * blocks_of(neighbours)) * partition::most_rows;
    const std::int64_t rows = std::min(partition::most_rows, neighbours - begin);
    const std::int64_t first_result = outer * neighbours + begin;
    const auto place = problem_.place_of(first_result);
    accumulator found[partition::most_rows];
    reduce(problem_.source + place.source, rows, segment * partition_.segment, found);
    const std::int64_t result_stride = problem_.kept.strides[1][problem_.kept.inner()];
    for (std::int64_t row = 0; row < rows; ++row) {
      if (partial_ != nullptr) {
        partial_[segment * results_ + first_result + row] = found[row];
      } else {
        problem_.results[place.result + row * result_stride] = policy_.finish(found[row], problem_.reduced.size());
      }
    }
  }

 private:
  static std::int64_t blocks_of(std::int64_t neighbours) {
    return (neighbours + partition::most_rows - 1) / partition::most_rows;
  }

  void reduce(const stored* source, std::int64_t rows, std::int64_t begin, accumulator* found) const {
    const Policy policy = policy_;
    const auto& nest = problem_.reduced;
    const std::int64_t count = std::min(partition_.segment, nest.size() - begin);
    const std::int64_t stride = nest.strides[0][nest.inner()];
    for (std::int64_t row = 0; row < rows; ++row) found[row] = policy.identity();
    if constexpr (Policy::indexed) {
      const std::int64_t step = nest.strides[1][nest.inner()];
      for_each_run<Policy>(nest, source, begin, count,
                           [&](const stored* first, std::int64_t length, std::int64_t position) {
                             find_in_columns(policy, first, rows, stride, length, position, step, found);
                           });
    } else {
      // Columns are joined in groups before they are combined with the others. A group is as large as for a matrix,
      // whatever the runs are.
      accumulator joined[partition::most_rows];
      std::int64_t columns = 0;
      const auto combine_joined = [&, values = &joined[0]] {
        for (std::int64_t row = 0; row < rows; ++row) {
          found[row] = policy.combine(found[row], values[row]);
          values[row] = policy.identity();
        }
        columns = 0;
      };
      for (std::int64_t row = 0; row < rows; ++row) joined[row] = policy.identity();
      for_each_run<Policy>(nest, source, begin, count, [&](const stored* first, std::int64_t length, std::int64_t) {
        while (length > 0) {
          const std::int64_t taken = std::min(length, partition::columns_at_once - columns);
          join_columns(policy, first, rows, stride, taken, joined);
          first += taken * stride;
          length -= taken;
          columns += taken;
          if (columns == partition::columns_at_once) combine_joined();
        }
      });
      combine_joined();
    }
  }

  Policy policy_;
  problem_type problem_;
  partition partition_;
  std::int64_t results_;
  accumulator* partial_;
};

/// The results from partial[s * results + r], over all segments s.
template <class Policy>
struct axes_partial_kernel {
  Policy policy;
  axes_reduction_problem<Policy> problem;
  const typename Policy::accumulator* partial;
  std::int64_t segments;

  std::int64_t blocks() const { return problem.kept.size(); }

  void operator()(std::int64_t which) const {
    const auto found =
        combine_partial<typename Policy::joining>(policy, partial + which, segments, problem.kept.size());
    problem.results[problem.place_of(which).result] = policy.finish(found, problem.reduced.size());
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
