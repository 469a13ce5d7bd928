// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of a device for rows that are cut into segments, one launch each: a team takes a segment, and that of a
/// row's last one combines what all of them find, in the same order every time.

#include "problem/reduction_problem.hpp"
#include "reduction_device_share.hpp"

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// How rows are cut.
struct reduction_segments_on_device {
  std::int64_t length = 0;  ///< elements; the last segment of a row may be shorter
  int count = 1;            ///< of a row; 1 where there are rows enough

  static reduction_segments_on_device of(std::int64_t rows, std::int64_t columns, std::size_t element_bytes) {
    const std::int64_t length = device_segment(rows * columns, element_bytes);
    return {length, static_cast<int>(std::max<std::int64_t>(1, (columns + length - 1) / length))};
  }
};

/// Of a matrix whose rows have several segments. Kernels are given no more than they need: reading it takes time.
template <class Stored, class Result, bool IsArray>
struct segmented_matrix {
  const Stored* source;
  std::int64_t columns;
  Result* results;
  std::int64_t rows, row_stride, column_stride, result_stride;

  explicit segmented_matrix(const row_reduction_problem<Stored, Result>& problem)
      : source(problem.source),
        columns(problem.columns),
        results(problem.results),
        rows(problem.rows),
        row_stride(problem.row_stride),
        column_stride(problem.column_stride),
        result_stride(problem.result_stride) {}
  std::int64_t row_count() const { return rows; }
  KOKKOS_FORCEINLINE_FUNCTION Result& result_of(int row) const { return results[row * result_stride]; }
};
/// Of one row, of neighbouring elements, the first of which is aligned to a pack.
template <class Stored, class Result>
struct segmented_matrix<Stored, Result, true> {
  const Stored* source;
  std::int64_t columns;
  Result* results;

  explicit segmented_matrix(const row_reduction_problem<Stored, Result>& problem)
      : source(problem.source), columns(problem.columns), results(problem.results) {}
  static std::int64_t row_count() { return 1; }
  KOKKOS_FORCEINLINE_FUNCTION Result& result_of(int) const { return *results; }
};

/// results[r] = the reduction of row r of several segments.
///
/// IsArray: of the one row there is, the shape that reductions are called with most. While it is in a cache, what a
/// call takes is what threads do before their first and after their last load: here that is little.
template <class Policy, bool IsArray>
class segment_reduction_device_kernel : public reduction_team<Policy> {
  using team = reduction_team<Policy>;
  using typename team::accumulator;
  using stored = typename Policy::stored;
  using pack = device_pack<stored>;
  static constexpr int pack_elements = device_pack_elements<stored>;

 public:
  using problem_type = row_reduction_problem<stored, typename Policy::result>;
  using team::most_threads;

  static bool is_array(const problem_type& problem) {
    return problem.rows == 1 && problem.column_stride == 1 && can_load_packs(problem.source, 0);
  }

  /// `words`: the context's.
  segment_reduction_device_kernel(const Policy& policy, const problem_type& problem,
                                  const reduction_segments_on_device& segments, published_word* words)
      : policy_(policy),
        matrix_(problem),
        length_(IsArray ? segments.length / pack_elements : segments.length),
        segments_(segments.count),
        words_(words) {}

  std::int64_t blocks() const { return matrix_.row_count() * segments_; }
  static std::int64_t blocks_per_team() { return 1; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    constexpr std::int64_t words_each = words_of_published<accumulator>;
    const int row = IsArray ? 0 : member.league_rank() / segments_;
    const int segment = member.league_rank() - row * segments_;
    const accumulator own = share_of(member.team_rank(), row, segment);
    join_scratch<accumulator> scratch = team_join_scratch<accumulator>(member, most_threads);
    const combine_on_device<Policy> combine{policy_};
    accumulator total = join_group(member, scratch, most_threads, own, combine);
    const bool is_last = segment == segments_ - 1;
    // A separate condition keeps the publishing code next to the code before it: fetching it from elsewhere costs time.
    if (!is_last && member.team_rank() == 0) publish(words_ + member.league_rank() * words_each, total);
    if (!is_last) return;
    total = join_published<most_threads>(member, scratch, words_ + words_each * row * segments_, segments_,
                                         policy_.identity(), total, combine);
    if (member.team_rank() == 0) {
      matrix_.result_of(row) = policy_.finish(total, matrix_.columns);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION accumulator share_of(int thread, int row, int segment) const {
    using share = share_of_stretch<Policy, whole_team::size>;
    const std::int64_t begin = segment * length_;
    if constexpr (IsArray) {
      // Segments are whole packs, but for the last one's end.
      const bool is_last = segment == segments_ - 1;
      const std::int64_t packs = is_last ? matrix_.columns / pack_elements - begin : length_;
      const int rest = is_last ? static_cast<int>(matrix_.columns % pack_elements) : 0;
      share own(policy_, thread, whole_team::threads(), begin * pack_elements, 1);
      return own.reduce_packs(reinterpret_cast<const pack*>(matrix_.source) + begin, packs, rest);
    } else {
      const std::int64_t count = matrix_.columns - begin < length_ ? matrix_.columns - begin : length_;
      const stored* const first = matrix_.source + row * matrix_.row_stride + begin * matrix_.column_stride;
      share own(policy_, thread, whole_team::threads(), begin, 1);
      return own.reduce(first, count, matrix_.column_stride);
    }
  }

  Policy policy_;
  segmented_matrix<stored, typename Policy::result, IsArray> matrix_;
  std::int64_t length_;  ///< of a segment: packs of an array, elements of others
  int segments_;
  published_word* words_;
};

}  // namespace prumo::detail
