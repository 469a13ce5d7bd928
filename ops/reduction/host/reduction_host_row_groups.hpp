// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Short rows on a host, as many at a time as a vector has lanes. All of it is loads, one or a few instructions for
/// each of them, and a tree of shuffles that rows share, so that memory is what takes the time.

#include "reduction_host_row_lanes.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/row_tree.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Where rows are no longer short: from this many columns on.
inline constexpr std::int64_t row_group_columns = 256;

/// The rows of a group: without gaps, with any distance, or fewer than a vector has lanes, where the last one stands in
/// for those behind it.
template <class Stored>
struct packed_rows {
  const Stored* first;
};
template <class Stored>
struct rows_apart {
  const Stored* first;
  std::int64_t stride;
  const Stored* operator()(int row) const { return first + row * stride; }
};
template <class Stored>
struct few_rows {
  const Stored* first;
  std::int64_t stride;
  std::int64_t last;
  const Stored* operator()(int row) const { return first + std::min<std::int64_t>(row, last) * stride; }
};
template <class Row>
inline constexpr bool is_packed = false;
template <class Stored>
inline constexpr bool is_packed<packed_rows<Stored>> = true;

/// How many pieces rows have: one or two, of which the second overlaps the first, or many.
enum class row_pieces : std::uint8_t { two, many };

/// The vectors of a group of rows, with Piece elements of each.
template <class Word, class Stored, int Piece, row_pieces Pieces>
class short_row_group {
  using tree = row_tree<Word, Piece, Stored>;

 public:
  using vector = typename tree::vector;
  static constexpr int rows = tree::rows;

  explicit short_row_group(std::int64_t columns) : columns_(columns) {
    const auto taken = static_cast<Word>(Pieces == row_pieces::two ? Piece : columns - columns % Piece);
    const auto overlapping = static_cast<Word>(columns - Piece);
    is_new_ = tree::places() + overlapping >= vector{} + taken;
    if constexpr (finds_positions) {
      first_ranks_ = vector{} + static_cast<Word>(columns) - tree::places();
      last_ranks_ = vector{} + static_cast<Word>(Piece) - tree::places();
    }
    if constexpr (finds_positions && Pieces == row_pieces::many) {
      for (std::int64_t column = 0; column < columns; ++column) ranks_[column] = static_cast<Word>(columns - column);
    }
  }

  /// What each row amounts to.
  template <class Row, class Lanes>
  [[gnu::always_inline]] vector joined(const Row& row, const Lanes& lanes) const {
    const auto join = [&](vector a, vector b) PRUMO_ALWAYS_INLINE { return lanes.join(a, b); };
    const auto take = [&](auto elements, std::int64_t, auto overlaps) PRUMO_ALWAYS_INLINE {
      const vector lifted = lanes.lift(elements);
      if constexpr (decltype(overlaps)::value && !Lanes::idempotent) {
        return std::bit_cast<vector>(std::bit_cast<masks>(lifted) & is_new_);
      } else {
        return lifted;
      }
    };
    return tree::joined(
        [&](auto which)
            PRUMO_ALWAYS_INLINE { return joined_pieces<decltype(which)::value>(row, take, join, Lanes::identity); },
        join);
  }

  /// Where each row has its largest key first. The key's rank is the number of columns from there on.
  template <class Row>
  [[gnu::always_inline]] vector positions(const Row& row, vector largest) const {
    const auto greater = [](vector a, vector b) PRUMO_ALWAYS_INLINE { return a > b ? a : b; };
    Word each[static_cast<std::size_t>(rows)];
    std::memcpy(each, &largest, sizeof(largest));
    const vector rank = tree::joined(
        [&](auto which) PRUMO_ALWAYS_INLINE {
          const vector wanted = tree::template spread<decltype(which)::value>(largest, each);
          const auto take = [&](vector keys, std::int64_t column, auto overlaps) PRUMO_ALWAYS_INLINE {
            vector ranks = decltype(overlaps)::value ? last_ranks_ : first_ranks_;
            if constexpr (Pieces == row_pieces::many) std::memcpy(&ranks, ranks_ + column, sizeof(ranks));
            return (keys == wanted) & ranks;
          };
          return joined_pieces<decltype(which)::value>(row, take, greater, Word{0});
        },
        greater);
    return vector{} + static_cast<Word>(columns_) - rank;
  }

  /// The lanes in the order of rows.
  template <class Row>
  [[gnu::always_inline]] static vector in_order(const Row&, vector found) {
    if constexpr (is_packed<Row>) {
      return tree::in_order(found);
    } else {
      return found;
    }
  }

 private:
  using masks = decltype(vector{} < vector{});
  static constexpr bool finds_positions = std::is_integral_v<Word>;
  /// Enough chains of joins that they need not wait for each other.
  static constexpr int chains = std::max(2, 8 / rows);

  /// What take(elements, number of the first one, whether they overlap those before) makes of the pieces of vector
  /// `Which`, joined.
  template <int Which, class Row, class Take, class Join>
  [[gnu::always_inline]] vector joined_pieces(const Row& row, const Take& take, const Join& join,
                                              [[maybe_unused]] Word identity) const {
    constexpr std::false_type apart{};
    if constexpr (is_packed<Row>) {
      return take(tree::template packed_pieces<Which>(row.first), 0, apart);
    } else {
      const auto taken = [&](std::int64_t column, auto overlaps) PRUMO_ALWAYS_INLINE {
        return take(tree::template pieces<Which>(row, column), column, overlaps);
      };
      constexpr std::true_type overlapping{};
      const vector first = taken(0, apart);
      if constexpr (Pieces == row_pieces::two) {
        return columns_ > Piece ? join(first, taken(columns_ - Piece, overlapping)) : first;
      } else {
        vector chain[static_cast<std::size_t>(chains)] = {first};
        PRUMO_UNROLL
        for (int i = 1; i < chains; ++i) chain[i] = vector{} + identity;
        std::int64_t column = rows;
        for (; column + chains * rows <= columns_; column += chains * rows) {
          PRUMO_UNROLL
          for (int i = 0; i < chains; ++i) chain[i] = join(chain[i], taken(column + i * rows, apart));
        }
        PRUMO_UNROLL
        for (int i = 0; i < chains - 1; ++i) {
          if (column + rows > columns_) break;
          chain[i] = join(chain[i], taken(column, apart));
          column += rows;
        }
        if (column < columns_) chain[chains - 1] = join(chain[chains - 1], taken(columns_ - rows, overlapping));
        PRUMO_UNROLL
        for (int half = chains / 2; half > 0; half /= 2) {
          PRUMO_UNROLL
          for (int i = 0; i < half; ++i) chain[i] = join(chain[i], chain[i + half]);
        }
        return chain[0];
      }
    }
  }

  struct nothing {};
  std::int64_t columns_;
  masks is_new_;  ///< the elements of overlapping pieces that are not in those before
  std::conditional_t<finds_positions, vector, nothing> first_ranks_, last_ranks_;
  Word ranks_[finds_positions && Pieces == row_pieces::many ? row_group_columns : 1];
};

/// Calls run.operator()<Piece, Pieces>() for the largest pieces that rows of this many columns have, two or more.
template <class Word, int Piece = row_tree<Word, 2>::rows, class Run>
void with_pieces_of(std::int64_t columns, const Run& run) {
  if constexpr (Piece == row_tree<Word, 2>::rows) {
    if (columns > 2 * Piece) return run.template operator()<Piece, row_pieces::many>();
  }
  if constexpr (Piece > 2) {
    if (columns < Piece) return with_pieces_of<Word, Piece / 2>(columns, run);
  }
  run.template operator()<Piece, row_pieces::two>();
}

/// Calls take(rows, number of the first, how many) for groups of the rows of a matrix.
/// \param is_far whether rows come from memory. Then lines some way ahead are prefetched: a group is many short loads,
///               and processors find out too late that they follow each other.
template <std::int64_t AtOnce, bool Packed, class Stored, class Take>
[[gnu::always_inline]] inline void for_each_row_group(const Stored* first, std::int64_t stride, std::int64_t rows,
                                                      bool is_far, const Take& take) {
  constexpr std::integral_constant<std::int64_t, AtOnce> all{};
  constexpr std::int64_t bytes_ahead = 8192, line_bytes = 64;
  const std::int64_t group_bytes = is_far ? AtOnce * stride * static_cast<std::int64_t>(sizeof(Stored)) : 0;
  std::int64_t row = 0;
  for (; row + AtOnce <= rows; row += AtOnce) {
    const char* const ahead = reinterpret_cast<const char*>(first + row * stride) + bytes_ahead;
    for (std::int64_t at = 0; at < group_bytes; at += line_bytes) __builtin_prefetch(ahead + at);
    if constexpr (Packed) {
      take(packed_rows<Stored>{first + row * stride}, row, all);
    } else {
      take(rows_apart<Stored>{first + row * stride, stride}, row, all);
    }
  }
  if (row < rows) take(few_rows<Stored>{first + row * stride, stride, rows - row - 1}, row, rows - row);
}

/// A lane as a result. Integers are positions, or the bits of numbers.
template <class Result, class Word>
[[gnu::always_inline]] inline Result result_of_lane(Word lane) {
  if constexpr (std::is_integral_v<Word> && !std::is_integral_v<Result>) {
    return std::bit_cast<Result>(lane);
  } else {
    return static_cast<Result>(lane);
  }
}

/// to[r * stride] = the result of lane r.
template <class Word, class Vector, class Result, class Count>
[[gnu::always_inline]] inline void store_rows(Vector found, Count known_count, Result* to, std::int64_t stride) {
  constexpr auto lanes = static_cast<std::int64_t>(sizeof(Vector) / sizeof(Word));
  const std::int64_t count = known_count;
  if constexpr (sizeof(Result) == sizeof(Word) && !std::is_same_v<Count, std::int64_t>) {
    if (stride == 1) {
      std::memcpy(static_cast<void*>(to), &found, sizeof(found));
      return;
    }
  }
  c_array<Word, lanes> each;
  std::memcpy(each, &found, sizeof(found));
  if (stride == 1) {
    for (std::int64_t row = 0; row < count; ++row) to[row] = result_of_lane<Result>(each[row]);
  } else {
    for (std::int64_t row = 0; row < count; ++row) to[row * stride] = result_of_lane<Result>(each[row]);
  }
}

/// to[r * to_stride] = the result for row r, of which find(group, rows) gives the lanes.
/// \param is_far whether rows come from memory, one behind the other
template <class Word, class Stored, class Result, class Find>
void reduce_row_groups(const Stored* first, std::int64_t stride, std::int64_t rows, std::int64_t columns, Result* to,
                       std::int64_t to_stride, bool is_far, const Find& find) {
  with_pieces_of<Word>(columns, [=]<int Piece, row_pieces Pieces>() {
    using group_type = short_row_group<Word, Stored, Piece, Pieces>;
    const group_type group(columns);
    const auto take = [=, &group](const auto& of_rows, std::int64_t begin, auto count) PRUMO_ALWAYS_INLINE {
      store_rows<Word>(group_type::in_order(of_rows, find(group, of_rows)), count, to + begin * to_stride, to_stride);
    };
    if constexpr (Pieces == row_pieces::two) {
      if (columns == Piece && stride == columns) {
        return for_each_row_group<group_type::rows, true>(first, stride, rows, is_far, take);
      }
    }
    for_each_row_group<group_type::rows, false>(first, stride, rows, is_far, take);
  });
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
