// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the tiles of direct_tiles_host.hpp read of B: its rows where they are, or a copy without gaps.

#include "direct_tiles_host.hpp"
#include "direct_widening_host.hpp"
#include <prumo/detail/host/first_lanes.hpp>
#include <prumo/detail/host/lane_square.hpp>
#include <prumo/detail/host/line_square.hpp>
#include <prumo/detail/word.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class T>
class direct_columns_of_b {
  using C = compute_t<T>;
  using vector = simd<C>;
  using sizes = direct_sizes<C>;
  using operand_b = typename direct_tiles<C>::operand_b;
  static constexpr int lanes = vector::lanes;
  static constexpr std::int64_t panel = sizes::panel;

 public:
  direct_columns_of_b(const gemm_problem<T>& problem, const direct_blocks& blocks)
      : b_(problem.b),
        n_(problem.n),
        k_(problem.k),
        block_depth_(blocks.depth),
        copies_all_(blocks.copies_b),
        rows_ahead_(blocks.copied_rows_ahead) {}

  /// The depth of the next block: what is copied fits into the memory for it.
  std::int64_t depth_from(std::int64_t columns, std::int64_t p, std::int64_t end) const {
    const std::int64_t depth = std::min(block_depth_, end - p);
    if (!are_copied(columns)) return depth;
    if (reads_on(columns) && p < rows_inside()) return columns <= lanes ? depth : std::min(depth, rows_inside() - p);
    return std::min(depth, most_copied(columns));
  }

  /// Whether all of the depth can be read at once.
  bool is_read_at_once(std::int64_t columns) const {
    return !are_copied(columns) || k_ <= most_copied(columns) || (reads_on(columns) && columns <= lanes);
  }

  /// Whether rows of B are copied, if they are not read on.
  bool are_copied(std::int64_t columns) const { return copies_all_ || columns < panel; }

  /// The rows for which there is memory.
  static std::int64_t most_copied(std::int64_t columns) { return sizes::copied_elements / padded(columns); }

  /// All of a matrix of B in rows of whole vectors, copied if they are not there.
  /// \param is_padded whether the last vector of a row begins behind the one before. Otherwise it ends where the row
  /// ends.
  const C* in_vectors(std::int64_t batch, bool is_padded, C* copied) const {
    const std::int64_t stride = (n_ + lanes - 1) / lanes * lanes;
    const T* const from = b_.data + batch * b_.batch_stride;
    if (b_.column_stride == 1) {
      if constexpr (!widens_for_direct<T>) {
        if (n_ == stride && b_.row_stride == n_) return from;
      }
      copy_to_vectors(from, b_.row_stride, is_padded, stride, copied);
      return copied;
    }
    if constexpr (widens_for_direct<T>) {
      widen_columns(from, n_, k_, n_ * k_, copied, stride);
    } else {
      copy_columns(from, n_, k_, copied, stride);
    }
    if (!is_padded && n_ != stride) copy_to_vectors(copied, stride, false, stride, copied);
    return copied;
  }

  /// Some columns of a matrix of B, of a block of the depth. `copied` is memory for a copy.
  operand_b at(std::int64_t batch, std::int64_t column, std::int64_t columns, std::int64_t p, std::int64_t depth,
               C* copied) const {
    const T* const from = b_.data + batch * b_.batch_stride + p * b_.row_stride + column * b_.column_stride;
    if constexpr (widens_for_direct<T>) {
      const std::int64_t there = b_.column_stride == 1 ? (k_ - p) * n_ - column : (n_ - column) * k_ - p;
      if (columns == n_ && n_ <= lanes && b_.column_stride == 1 && b_.row_stride == n_) {
        // A vector reads on in the row behind.
        widen_run(from, depth * n_, there, copied);
        std::fill_n(copied + depth * n_, lanes, C(0));
        return {copied, n_};
      }
      const std::int64_t stride = padded(columns);
      widen_columns(from, columns, depth, there, copied, stride);
      return {copied, stride};
    } else {
      return where_it_is(from, column, columns, p, depth, copied);
    }
  }

 private:
  operand_b where_it_is(const C* from, std::int64_t column, std::int64_t columns, std::int64_t p, std::int64_t depth,
                        C* copied) const {
    if (!are_copied(columns)) return {from, b_.row_stride};
    const std::int64_t stride = padded(columns);
    if (!reads_on(columns)) {
      copy_columns(from, columns, depth, copied, stride);
      return {copied, stride};
    }
    // Of rows that are longer than a vector, many loads would reach into another line. So they are copied if some are.
    const std::int64_t inside = std::clamp<std::int64_t>(rows_inside() - p, 0, depth);
    const std::int64_t in_place = columns <= lanes || inside == depth ? inside : 0;
    const std::int64_t last = depth - in_place;
    copy_narrow_rows(from + in_place * n_, last, (k_ - p - in_place) * n_ - column, copied);
    if (in_place == 0) return {copied, stride};
    return {from, b_.row_stride, copied, last};
  }

  /// Whether rows of B that are narrower than a panel are read where they are: they have no gaps, so a panel reads on
  /// in the row behind. The last rows, behind which nothing is, are copied.
  bool reads_on(std::int64_t columns) const { return columns < panel && b_.row_stride == n_ && !copies_all_; }

  /// Rows from which a panel can be read.
  std::int64_t rows_inside() const { return k_ - (panel + n_ - 1) / n_; }

  static std::int64_t padded(std::int64_t columns) { return (columns + panel - 1) / panel * panel; }

  /// Copies rows that are narrower than a panel and have no gaps between them. What is copied behind the end of a row
  /// gives sums that nobody reads. `there` elements lie in memory.
  void copy_narrow_rows(const C* from, std::int64_t depth, std::int64_t there, C* to) const {
    for (std::int64_t p = 0; p < depth; ++p, from += n_, there -= n_, to += panel) {
      if (there >= panel) {
        vector::load(from).store(to);
        vector::load(from + lanes).store(to + lanes);
      } else {
        for (std::int64_t j = 0; j < panel; ++j) to[j] = j < there ? from[j] : C(0);
      }
    }
  }

  /// Rows of B, or a copy of them in place, become rows of whole vectors.
  template <class From>
  void copy_to_vectors(const From* from, std::int64_t row_stride, bool is_padded, std::int64_t stride, C* to) const {
    const std::int64_t last = stride - lanes;
    for (std::int64_t p = 0; p < k_; ++p, from += row_stride, to += stride) {
      const vector end =
          is_padded ? prumo::detail::load_first(from + last, n_ - last) : prumo::detail::load_vector(from + n_ - lanes);
      for (std::int64_t j = 0; j < last; j += lanes) prumo::detail::load_vector(from + j).store(to + j);
      end.store(to + last);
    }
  }

  /// Prefetches the same columns of a later row, if B is far. Processors do not notice that short runs of rows are
  /// copied one after the other.
  [[gnu::always_inline]] void ask_ahead(const T* row, std::int64_t columns) const {
    if (rows_ahead_ == 0) return;
    constexpr std::int64_t line = direct_blocks::line_elements<T>;
    const T* const ahead = row + rows_ahead_ * b_.row_stride;
    for (std::int64_t j = 0; j < columns; j += line) __builtin_prefetch(ahead + j);
  }

  /// Copies a short run in few vectors, which takes less time than a call.
  static void copy_run(const C* from, std::int64_t count, C* to) {
    constexpr std::int64_t group = 4;
    if (count >= 2 * group * lanes) {
      std::copy_n(from, count, to);
      return;
    }
    std::int64_t j = 0;
    for (; j + group * lanes <= count; j += group * lanes) {
      vector held[group];
      prumo::detail::for_each_register<group, 1>(
          [&](int i, int) PRUMO_ALWAYS_INLINE { held[i] = vector::load(from + j + i * lanes); });
      prumo::detail::for_each_register<group, 1>([&](int i, int)
                                                     PRUMO_ALWAYS_INLINE { held[i].store(to + j + i * lanes); });
    }
    for (; j + lanes <= count; j += lanes) vector::load(from + j).store(to + j);
    for (; j < count; ++j) to[j] = from[j];
  }

  /// Widens columns of B to rows without gaps. Vectors read on behind what is widened where numbers of B follow, of
  /// which there are so many from the first one on if its rows or columns have no gaps. This gives sums that nobody
  /// reads.
  void widen_columns(const T* from, std::int64_t columns, std::int64_t depth, std::int64_t there, C* to,
                     std::int64_t stride) const {
    if (b_.column_stride == 1) {
      const bool has_gaps = b_.row_stride != n_;
      for (std::int64_t p = 0; p < depth; ++p, from += b_.row_stride, there -= n_) {
        ask_ahead(from, columns);
        widen_run(from, columns, has_gaps ? columns : there, to + p * stride);
      }
      return;
    }
    if (b_.row_stride == 1) return widen_and_turn(from, columns, depth, there, to, stride);
    for (std::int64_t p = 0; p < depth; ++p) {
      for (std::int64_t j = 0; j < columns; ++j) {
        to[p * stride + j] = static_cast<C>(from[p * b_.row_stride + j * b_.column_stride]);
      }
      std::fill(to + p * stride + columns, to + (p + 1) * stride, C(0));
    }
  }

  /// The same for columns whose numbers are neighbours in memory. A vector of each of some columns is widened, and
  /// these are turned.
  void widen_and_turn(const T* from, std::int64_t columns, std::int64_t depth, std::int64_t there, C* to,
                      std::int64_t stride) const {
    using word = prumo::detail::word_of<C>;
    using square = prumo::detail::vector_square<word>;
    static_assert(lanes % square::length == 0 && lanes % square::side == 0);
    const bool has_gaps = b_.column_stride != k_;
    for (std::int64_t j = 0; j < stride; j += lanes) {
      for (std::int64_t p = 0; p < depth; p += lanes) {
        const std::int64_t count = std::min<std::int64_t>(lanes, depth - p);
        C lines[lanes][lanes];
        for (std::int64_t w = 0; w < lanes; ++w) {
          if (j + w < columns) {
            const std::int64_t left = there - (j + w) * k_ - p;
            widen_run(from + (j + w) * b_.column_stride + p, count, has_gaps ? count : left, lines[w]);
          } else {
            std::fill_n(lines[w], lanes, C(0));
          }
        }
        for (std::int64_t i = 0; i < count; i += square::side) {
          for (std::int64_t w = 0; w < lanes; w += square::length) {
            const auto* const corner = reinterpret_cast<const word*>(&lines[w][i]);
            auto* const turned = reinterpret_cast<word*>(to + (p + i) * stride + j + w);
            switch (std::min<std::int64_t>(square::side, count - i)) {
              case 1: square::template transpose_rows<1>(corner, lanes, turned, stride); break;
              case 2: square::template transpose_rows<2>(corner, lanes, turned, stride); break;
              case 3: square::template transpose_rows<3>(corner, lanes, turned, stride); break;
              default: square::transpose_rows(corner, lanes, turned, stride);
            }
          }
        }
      }
    }
  }

  /// Copies columns of B to rows without gaps. They are filled up with zeros.
  void copy_columns(const C* from, std::int64_t columns, std::int64_t depth, C* to, std::int64_t stride) const {
    if (b_.column_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p, from += b_.row_stride, to += stride) {
        ask_ahead(from, columns);
        copy_run(from, columns, to);
        if (columns < stride) std::fill(to + columns, to + stride, C(0));
      }
      return;
    }
    using word = prumo::detail::word_of<C>;
    using square = prumo::detail::lane_square<word>;
    const bool turns = b_.row_stride == 1;
    for (std::int64_t j = 0; j < columns;) {
      const bool is_square = turns && j + square::side <= columns;
      const C* const column = from + j * b_.column_stride;
      const std::int64_t width = is_square ? square::side : 1;
      std::int64_t p = 0;
      for (; is_square && p + square::side <= depth; p += square::side) {
        square::transpose(reinterpret_cast<const word*>(column + p), b_.column_stride,
                          reinterpret_cast<word*>(to + p * stride + j), stride);
      }
      for (; p < depth; ++p) {
        for (std::int64_t w = 0; w < width; ++w) {
          to[p * stride + j + w] = column[p * b_.row_stride + w * b_.column_stride];
        }
      }
      j += width;
    }
    for (std::int64_t p = 0; p < depth; ++p) std::fill(to + p * stride + columns, to + (p + 1) * stride, C(0));
  }

  gemm_matrix<const T> b_;
  std::int64_t n_;
  std::int64_t k_;
  std::int64_t block_depth_;
  bool copies_all_;
  std::int64_t rows_ahead_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
