// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Short rows of neighbouring elements, reduced by one thread of a host.

#include "problem/reduction_problem.hpp"
#include "reduction_host_lanes.hpp"
#include "reduction_host_row_groups.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class Policy>
class short_row_reduction {
  using stored = typename Policy::stored;
  using element = typename Policy::element;
  using result = typename Policy::result;

 public:
  using problem_type = row_reduction_problem<stored, result>;

  short_row_reduction(const Policy& policy, const problem_type& problem) : policy_(policy), problem_(problem) {}

  /// Longer rows keep vectors busy by themselves. Numbers that count are reduced one by one.
  static bool can_take(const problem_type& problem) {
    if constexpr (takes_vectors) {
      return problem.column_stride == 1 && problem.columns > 0 && problem.columns < longest;
    } else {
      return false;
    }
  }

  /// This many rows are whole groups, whatever their words are.
  static constexpr std::int64_t multiple = row_tree<std::int16_t, 2>::rows;

  /// The rows begin ... end - 1.
  void operator()(std::int64_t begin, std::int64_t end) const {
    const stored* const source = problem_.source + begin * problem_.row_stride;
    result* const results = problem_.results + begin * problem_.result_stride;
    if constexpr (!takes_vectors) {
      static_cast<void>(source), static_cast<void>(results);
    } else if (problem_.columns == 1) {
      take_single_elements(source, end - begin, results);
    } else if constexpr (Policy::indexed) {
      find_positions(source, end - begin, results);
    } else if constexpr (Policy::idempotent) {
      find_extremes(source, end - begin, results);
    } else if constexpr (std::is_same_v<stored, element>) {
      add<stored>(source, problem_.row_stride, end - begin, results, problem_.result_stride, comes_in_order());
    } else {
      add_narrow(source, end - begin, results);
    }
  }

 private:
  static constexpr bool takes_vectors = std::is_same_v<stored, plain_scalar_t<stored>>;
  /// Sums of longer rows of doubles have less depth in the lanes of reduce_lanes().
  static constexpr std::int64_t longest =
      Policy::idempotent ? row_group_columns : std::min(row_group_columns, short_rows::longest<element>);
  /// Elements that are converted before they are read: as many as a group of the longest rows has.
  template <class Word>
  static constexpr std::int64_t converted_at_once = row_group_columns * row_tree<Word, 2>::rows;
  template <class Word>
  std::int64_t rows_converted_at_once() const {
    constexpr std::int64_t rows = row_tree<Word, 2>::rows;
    return converted_at_once<Word> / problem_.columns / rows * rows;
  }

  /// Whether rows come from memory in order: no cache holds them, and the gaps between them are small.
  bool comes_in_order() const { return problem_.is_far && problem_.row_stride <= 2 * problem_.columns; }

  void find_extremes(const stored* source, std::int64_t rows, result* results) const {
    using bits = typename keys_of_words<stored>::bits;
    using key = typename keys_of_words<stored>::key_type;
    const extremes_of_rows<stored> lanes(policy_.flipped != 0);
    reduce_row_groups<key>(reinterpret_cast<const bits*>(source), problem_.row_stride, rows, problem_.columns, results,
                           problem_.result_stride, comes_in_order(),
                           [&](const auto& group, const auto& of_rows)
                               PRUMO_ALWAYS_INLINE { return lanes.numbers_of(group.joined(of_rows, lanes)); });
  }

  /// A loop of its own makes keys, which are then read twice.
  void find_positions(const stored* source, std::int64_t rows, result* results) const {
    using word = typename keys_of_words<stored>::key_type;
    constexpr largest_of_rows<word> lanes;
    c_array<word, converted_at_once<word>> keys;
    const std::int64_t columns = problem_.columns;
    const std::int64_t at_once = rows_converted_at_once<word>();
    for (std::int64_t first = 0; first < rows; first += at_once) {
      const std::int64_t count = std::min(at_once, rows - first);
      convert_rows(source + first * problem_.row_stride, count,
                   [&](const stored* from, std::int64_t to, std::int64_t n) { make_keys(from, n, keys + to); });
      reduce_row_groups<word>(static_cast<const word*>(keys), columns, count, columns,
                              results + first * problem_.result_stride, problem_.result_stride, false,
                              [&](const auto& group, const auto& of_rows) PRUMO_ALWAYS_INLINE {
                                return group.positions(of_rows, group.joined(of_rows, lanes));
                              });
    }
  }
  template <class Key>
  void make_keys(const stored* numbers, std::int64_t count, Key* keys) const {
    using order = keys_of_words<stored>;
    using words = vector_of<typename order::bits, simd_bytes>;
    const auto flipped = policy_.flipped != 0 ? order::sign : typename order::bits{0};
    constexpr int lanes = static_cast<int>(simd_bytes / sizeof(Key));
    convert_stretch<lanes>(numbers, keys, count, [=](const stored* from, Key* to) PRUMO_ALWAYS_INLINE {
      words bits;
      std::memcpy(&bits, from, sizeof(bits));
      const auto made = order::key_without_signs_of_zero(bits ^ flipped);
      std::memcpy(to, &made, sizeof(made));
    });
  }

  /// Sums of numbers as they are computed, ...
  template <class T, class Stored>
  void add(const Stored* numbers, std::int64_t stride, std::int64_t rows, element* sums, std::int64_t to_stride,
           bool is_far) const {
    constexpr auto lanes = summed_rows<T, squares_terms<Policy>>();
    reduce_row_groups<element>(numbers, stride, rows, problem_.columns, sums, to_stride, is_far,
                               [&](const auto& group, const auto& of_rows) PRUMO_ALWAYS_INLINE {
                                 return finished(policy_, group.joined(of_rows, lanes), problem_.columns);
                               });
  }
  /// ... and of 16-bit numbers, some rows at a time.
  void add_narrow(const stored* source, std::int64_t rows, result* results) const {
    constexpr std::int64_t most_sums = converted_at_once<element> / 2;
    c_array<element, most_sums> sums;
    const std::int64_t at_once = widens_pieces<stored> ? most_sums : rows_converted_at_once<element>();
    for (std::int64_t first = 0; first < rows; first += at_once) {
      const std::int64_t count = std::min(at_once, rows - first);
      const stored* const from = source + first * problem_.row_stride;
      if constexpr (widens_pieces<stored>) {
        add<stored>(reinterpret_cast<const std::uint16_t*>(from), problem_.row_stride, count, sums, 1,
                    comes_in_order());
      } else {
        c_array<element, converted_at_once<element>> numbers;
        convert_rows(from, count,
                     [&](const stored* narrow, std::int64_t to, std::int64_t n) { widen(narrow, numbers + to, n); });
        add<element>(static_cast<const element*>(numbers), problem_.columns, count, sums, 1, false);
      }
      store_sums(sums, count, results + first * problem_.result_stride);
    }
  }
  void store_sums(const element* sums, std::int64_t rows, result* results) const {
    if (problem_.result_stride == 1) return narrow(sums, results, rows);
    for (std::int64_t row = 0; row < rows; ++row) {
      results[row * problem_.result_stride] = static_cast<result>(sums[row]);
    }
  }

  /// Calls convert(from, number of the first, how many) for rows that are to lie one behind the other.
  template <class Convert>
  void convert_rows(const stored* source, std::int64_t rows, const Convert& convert) const {
    const std::int64_t columns = problem_.columns;
    if (problem_.row_stride == columns) return convert(source, std::int64_t{0}, rows * columns);
    for (std::int64_t row = 0; row < rows; ++row) convert(source + row * problem_.row_stride, row * columns, columns);
  }

  void take_single_elements(const stored* source, std::int64_t rows, result* results) const {
    const Policy policy = policy_;
    const std::int64_t from_stride = problem_.row_stride;
    const std::int64_t to_stride = problem_.result_stride;
    const auto take = [&](const auto& result_of) PRUMO_ALWAYS_INLINE {
      if (from_stride == 1 && to_stride == 1) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t row = 0; row < rows; ++row) results[row] = result_of(source[row]);
      } else {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t row = 0; row < rows; ++row) results[row * to_stride] = result_of(source[row * from_stride]);
      }
    };
    if constexpr (Policy::indexed) {
      take([](const stored&) { return result{0}; });
    } else if constexpr (Policy::idempotent) {
      // A number that is alone is the extreme, and need not be rounded.
      take([](const stored& number) { return number; });
    } else {
      take([&](const stored& number) { return policy.finish(policy.join(policy.identity(), policy.lift(number)), 1); });
    }
  }

  Policy policy_;
  problem_type problem_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
