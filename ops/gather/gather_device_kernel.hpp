// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of gather_rows on a device. The words of the target are counted through all its rows (through all its
/// columns if it is column-major), so neighbouring threads take neighbouring words, however long a row is. The time of
/// narrow rows is that of the instructions that find where a word comes from. So words are counted with 32 bits, and
/// larger targets take several kernels.

#include "gather_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <climits>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace prumo::detail {

/// The most words of a kernel's target. With a row and a team's words more, a kernel still counts below 2^31.
inline constexpr std::int64_t most_words_to_gather = std::int64_t{1} << 29;

/// Calls visit(part) for parts of the target that have at most `most_words` words and together are all of it.
template <class Word, class Index, class Visitor>
void for_each_part_to_gather(const gather_problem<Word, Index>& problem, std::int64_t most_words,
                             const Visitor& visit) {
  const std::int64_t columns = std::min(problem.columns, most_words), rows = most_words / columns;
  for (std::int64_t column = 0; column < problem.columns; column += columns) {
    for (std::int64_t row = 0; row < problem.rows; row += rows) {
      gather_problem<Word, Index> part = problem;
      part.source += column * problem.source_column_stride;
      part.index += row * problem.index_stride;
      part.target += row * problem.target_row_stride + column * problem.target_column_stride;
      part.columns = std::min(columns, problem.columns - column);
      part.rows = std::min(rows, problem.rows - row);
      visit(part);
    }
  }
}

/// Whether rows are whole words of a wider type, so that these can be moved instead. They must be enough to keep a
/// large device busy.
template <class Wide, class Word, class Index>
bool has_words_to_gather(const gather_problem<Word, Index>& problem) {
  constexpr auto words = static_cast<std::int64_t>(sizeof(Wide) / sizeof(Word));
  constexpr std::int64_t fewest = std::int64_t{1} << 15;
  const auto begins_whole = [&](const Word* data, std::int64_t row_stride, std::int64_t rows) {
    return reinterpret_cast<std::uintptr_t>(data) % sizeof(Wide) == 0 && (rows == 1 || row_stride % words == 0);
  };
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 && problem.columns % words == 0 &&
         problem.rows * (problem.columns / words) >= fewest &&
         begins_whole(problem.source, problem.source_row_stride, problem.source_rows) &&
         begins_whole(problem.target, problem.target_row_stride, problem.rows);
}

/// The problem in wider words.
template <class Wide, class Word, class Index>
gather_problem<Wide, Index> in_words_to_gather(const gather_problem<Word, Index>& problem) {
  constexpr auto words = static_cast<std::int64_t>(sizeof(Wide) / sizeof(Word));
  gather_problem<Wide, Index> result;
  result.source = reinterpret_cast<const Wide*>(problem.source);
  result.index = problem.index;
  result.target = reinterpret_cast<Wide*>(problem.target);
  result.source_rows = problem.source_rows;
  result.rows = problem.rows;
  result.columns = problem.columns / words;
  result.source_row_stride = problem.source_row_stride / words;
  result.index_stride = problem.index_stride;
  result.target_row_stride = problem.target_row_stride / words;
  Word missing[words];
  std::fill_n(missing, words, problem.missing);
  std::memcpy(&result.missing, missing, sizeof(missing));
  return result;
}

/// How the words of a problem lie, and how they are counted.
/// - contiguous: row by row. The target's words follow each other, and so do those of a row of the source and the
///   indices; strides and numbers of rows have 32 bits.
/// - by_rows: row by row, with any strides.
/// - by_columns: column by column, with any strides.
enum class gather_order { contiguous, by_rows, by_columns };

/// Where the words of a problem lie.
template <class Word, class Index, gather_order Order>
class gather_places {
  static constexpr bool contiguous = Order == gather_order::contiguous;
  /// A distance in bytes where rows are contiguous, else in words.
  using distance = std::conditional_t<contiguous, std::uint32_t, std::int64_t>;

 public:
  struct place {
    unsigned row, column;
  };

  /// Whether a problem is contiguous.
  static bool are_in(const gather_problem<Word, Index>& problem) {
    return problem.source_column_stride == 1 && problem.target_column_stride == 1 && problem.index_stride == 1 &&
           (problem.rows == 1 || problem.target_row_stride == problem.columns) && problem.source_rows <= INT_MAX &&
           problem.source_row_stride >= 0 && problem.source_row_stride <= INT_MAX / static_cast<int>(sizeof(Word));
  }

  explicit gather_places(const gather_problem<Word, Index>& problem)
      : columns(static_cast<unsigned>(problem.columns)),
        words(static_cast<unsigned>(problem.rows * problem.columns)),
        target(problem.target),
        missing(problem.missing),
        source_(problem.source),
        index_(problem.index),
        source_rows_(static_cast<distance>(problem.source_rows)),
        source_row_stride_(static_cast<distance>(problem.source_row_stride * (contiguous ? sizeof(Word) : 1))),
        source_column_stride_(problem.source_column_stride),
        index_stride_(problem.index_stride),
        target_row_stride_(problem.target_row_stride),
        target_column_stride_(problem.target_column_stride),
        inner_(static_cast<unsigned>(Order == gather_order::by_columns ? problem.rows : problem.columns)),
        by_inner_(static_cast<int>(inner_)) {}

  KOKKOS_FORCEINLINE_FUNCTION place place_of(unsigned word) const {
    const auto outer = static_cast<unsigned>(by_inner_.quotient(static_cast<int>(word)));
    const unsigned inner = word - outer * inner_;
    return Order == gather_order::by_columns ? place{inner, outer} : place{outer, inner};
  }
  KOKKOS_FORCEINLINE_FUNCTION Index chosen_for(unsigned row) const {
    if constexpr (contiguous) {
      return index_[row];
    } else {
      return index_[row * index_stride_];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION bool is_row(Index chosen) const {
    if constexpr (contiguous) {
      return static_cast<std::make_unsigned_t<Index>>(chosen) < source_rows_;
    } else {
      return chosen >= 0 && chosen < source_rows_;
    }
  }
  /// \param chosen is a row.
  KOKKOS_FORCEINLINE_FUNCTION const Word* source(Index chosen, unsigned column) const {
    if constexpr (contiguous) {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(source_);
      const std::uint64_t to_row = std::uint64_t{static_cast<std::uint32_t>(chosen)} * source_row_stride_;
      return reinterpret_cast<const Word*>(bytes + to_row) + column;
    } else {
      return source_ + chosen * source_row_stride_ + column * source_column_stride_;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION Word* target_of(unsigned word, const place& at) const {
    if constexpr (contiguous) {
      return target + word;
    } else {
      return target + at.row * target_row_stride_ + at.column * target_column_stride_;
    }
  }

  unsigned columns;
  unsigned words;  ///< of the target
  Word* target;
  Word missing;

 private:
  const Word* source_;
  const Index* index_;
  distance source_rows_;
  distance source_row_stride_;
  std::int64_t source_column_stride_;
  std::int64_t index_stride_;
  std::int64_t target_row_stride_;
  std::int64_t target_column_stride_;
  unsigned inner_;  ///< words of a row, or of a column, that are counted one after the other
  index_divider by_inner_;
};

/// A thread moves a few words, a team's width apart.
template <class Word, class Index, gather_order Order>
class gather_words_kernel {
  using places = gather_places<Word, Index, Order>;
  static constexpr int words_at_once = 4;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = sizeof(Word) > 8 ? 4 : 6;

  explicit gather_words_kernel(const gather_problem<Word, Index>& problem) : places_(problem) {}

  std::int64_t blocks() const { return places_.words; }
  std::int64_t blocks_per_team() const { return most_threads * words_at_once; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const auto first =
        static_cast<unsigned>(member.league_rank() * (most_threads * words_at_once) + member.team_rank());
    typename places::place at[words_at_once];
    Index chosen[words_at_once];
    PRUMO_UNROLL
    for (unsigned i = 0; i < words_at_once; ++i) {
      const unsigned word = first + i * most_threads;
      at[i] = places_.place_of(word);
      chosen[i] = Index{-1};
      if (word < places_.words) chosen[i] = places_.chosen_for(at[i].row);
    }
    Word held[words_at_once];
    PRUMO_UNROLL
    for (unsigned i = 0; i < words_at_once; ++i) {
      held[i] = places_.missing;
      if (places_.is_row(chosen[i])) held[i] = *places_.source(chosen[i], at[i].column);
    }
    PRUMO_UNROLL
    for (unsigned i = 0; i < words_at_once; ++i) {
      const unsigned word = first + i * most_threads;
      if (word < places_.words) *places_.target_of(word, at[i]) = held[i];
    }
  }

 private:
  places places_;
};

/// A thread puts packs of the target together, whose words lie anywhere in one or two rows of the source. That takes
/// fewer instructions for a word.
template <class Word, class Index>
class gather_packs_kernel {
  static constexpr int packs_at_once = 2, pack_words = device_pack_elements<Word>;
  using places = gather_places<Word, Index, gather_order::contiguous>;

 public:
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 4;

  /// Whether a problem suits: it is contiguous, rows have some packs, and there are enough of them for a large device.
  /// Of narrower rows each load would meet more rows, and so more cache lines. The limits were measured on an H200;
  /// docs/performance-log.md has the times.
  static bool suits(const gather_problem<Word, Index>& problem) {
    constexpr std::int64_t fewest_bytes = std::int64_t{2} << 20, fewest_columns = 2 * pack_words;
    return places::are_in(problem) && problem.columns >= fewest_columns &&
           problem.rows * problem.columns * static_cast<std::int64_t>(sizeof(Word)) >= fewest_bytes;
  }

  explicit gather_packs_kernel(const gather_problem<Word, Index>& problem)
      : places_(problem),
        before_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(problem.target) / sizeof(Word) % pack_words)) {}

  std::int64_t blocks() const { return (std::int64_t{places_.words} + before_ + pack_words - 1) / pack_words; }
  std::int64_t blocks_per_team() const { return most_threads * packs_at_once; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return 0; }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const auto first =
        static_cast<unsigned>(member.league_rank() * (most_threads * packs_at_once) + member.team_rank());
    const unsigned columns = places_.columns, words = places_.words;
    unsigned column[packs_at_once];
    Index chosen[packs_at_once], next[packs_at_once];
    PRUMO_UNROLL
    for (unsigned i = 0; i < packs_at_once; ++i) {
      // The first pack may begin before the first row. So a row more is counted.
      const unsigned word = (first + i * most_threads) * pack_words + columns - before_;
      const auto [row, within] = places_.place_of(word);
      column[i] = within;
      chosen[i] = next[i] = Index{-1};
      if (row > 0 && word < words + columns) chosen[i] = places_.chosen_for(row - 1);
      if (column[i] + pack_words > columns && word - column[i] < words) next[i] = places_.chosen_for(row);
    }
    device_pack<Word> held[packs_at_once];
    PRUMO_UNROLL
    for (unsigned i = 0; i < packs_at_once; ++i) {
      const bool is_row = places_.is_row(chosen[i]), is_next_row = places_.is_row(next[i]);
      const Word* const from = places_.source(is_row ? chosen[i] : Index{0}, column[i]);
      const Word* const from_next = places_.source(is_next_row ? next[i] : Index{0}, 0) - (columns - column[i]);
      PRUMO_UNROLL
      for (unsigned k = 0; k < pack_words; ++k) {
        const bool in_next = column[i] + k >= columns;
        held[i].values[k] = places_.missing;
        if (in_next ? is_next_row : is_row) held[i].values[k] = (in_next ? from_next : from)[k];
      }
    }
    PRUMO_UNROLL
    for (unsigned i = 0; i < packs_at_once; ++i) {
      const unsigned word = (first + i * most_threads) * pack_words - before_;
      if (word < words && words - word >= pack_words) {
        store_pack(places_.target + word, held[i]);
      } else {
        PRUMO_UNROLL
        for (unsigned k = 0; k < pack_words; ++k) {
          if (word + k < words) places_.target[word + k] = held[i].values[k];
        }
      }
    }
  }

 private:
  places places_;
  unsigned before_;  ///< the words of the first pack that lie before the target
};

}  // namespace prumo::detail
