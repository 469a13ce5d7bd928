// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of matrices on host cores where copying A and B would take as long as multiplying them. A tile of sums
/// stays in registers over a block of the depth k. Rows of A are read where they are, and so is B, unless its columns
/// have gaps. direct_blocks.hpp tells how C and k are cut.
///
/// Each sum is a chain of fused multiply-adds in the order of k, or as many chains as k has parts, which are added up
/// in their order. The extents alone decide about the parts, so results depend neither on the number of threads nor on
/// how C is cut.

#include "direct_blocks.hpp"
#include "gemm_entries.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/lane_square.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/detail/word.hpp>

#include <algorithm>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class C>
class direct_gemm_host_kernel {
  using vector = simd<C>;
  using sizes = direct_sizes<C>;
  static constexpr int lanes = vector::lanes;
  static constexpr int tile_rows = sizes::tile_rows;
  static constexpr std::int64_t panel = sizes::panel;
  /// Lines that two rows share are written twice if rows go past the caches, which costs more than it saves. And if
  /// writing takes only a part of the time, ordinary stores are written back while sums are computed.
  static constexpr std::int64_t longest_streamed_sum = 16;
  /// Long rows, most of whose lines are their own, or shorter ones without shared lines.
  static bool has_whole_lines(const gemm_problem<C>& problem) {
    constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(C));
    return problem.n >= 16 * line ||
           (problem.n >= 6 * line && problem.n % line == 0 && problem.c.row_stride % line == 0);
  }

 public:
  /// \param streams whether C goes past the caches, where it is not read
  direct_gemm_host_kernel(const gemm_problem<C>& problem, bool streams, std::int64_t threads)
      : problem_(problem),
        blocks_(direct_blocks::of(problem, threads)),
        form_(choose_form(problem.alpha, problem.beta)),
        streams_(streams && problem.c.column_stride == 1 && has_whole_lines(problem) &&
                 problem.k <= longest_streamed_sum && (form_ == scaled_form::store || form_ == scaled_form::scale)),
        writes_sums_(!streams_ && problem.c.column_stride == 1 && form_ == scaled_form::store &&
                     !problem.has_epilogue()) {}

  std::int64_t blocks() const { return blocks_of_c() * blocks_.parts; }
  std::int64_t blocks_of_c() const { return problem_.batch * blocks_.row_blocks * blocks_.column_blocks; }

  /// Elements of the workspace for the sums of all parts; none if there is one part.
  std::int64_t workspace_elements() const { return blocks_.parts > 1 ? blocks() * elements_of_block() : 0; }
  void set_workspace(C* workspace) { workspace_ = workspace; }

  /// Blocks of the same columns of B follow each other, so that these stay in a cache.
  void operator()(std::int64_t block) const {
    const area at = area_of(block % blocks_of_c());
    const std::int64_t begin = block / blocks_of_c() * blocks_.part_depth;
    const std::int64_t end = std::min(problem_.k, begin + blocks_.part_depth);
    C memory[sizes::kept_elements];
    C copied[sizes::copied_elements];
    if (!blocks_.keeps_sums && (!copies(at) || problem_.k <= most_copied(at))) {
      const operand_b b = columns_of_b(at, 0, problem_.k, copied);
      for_each_tile(at, [&]<int Rows>(std::int64_t row) { multiply_and_finish<Rows>(b, at, row, memory); });
    } else {
      C* const kept = blocks_.parts > 1 ? workspace_ + block * elements_of_block() : memory;
      std::fill_n(kept, at.rows * blocks_.columns, C(0));
      for (std::int64_t p = begin; p < end;) {
        const std::int64_t depth = depth_from(at, p, end);
        const operand_b b = columns_of_b(at, p, depth, copied);
        for_each_tile(at, [&]<int Rows>(std::int64_t row) {
          multiply<Rows, true>(a_of(at, row, p), b, depth, kept + row * blocks_.columns, blocks_.columns, at.columns,
                               false);
        });
        p += depth;
      }
      if (blocks_.parts == 1) finish(at, kept);
    }
    if (streams_) prumo::detail::streaming_fence();
  }

  /// Adds up the parts of a block of C.
  void combine(std::int64_t block) const {
    const area at = area_of(block);
    C* const sums = workspace_ + block * elements_of_block();
    const std::int64_t count = at.rows * blocks_.columns;
    for (std::int64_t part = 1; part < blocks_.parts; ++part) {
      const C* const own = sums + part * blocks_of_c() * elements_of_block();
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t i = 0; i < count; ++i) sums[i] += own[i];
    }
    finish(at, sums);
    if (streams_) prumo::detail::streaming_fence();
  }

 private:
  /// A block of C: where it begins, and its extents.
  struct area {
    std::int64_t batch, row, column, rows, columns;
  };

  /// Rows of B without gaps. If they are fewer than a panel, as much may be read.
  struct operand_b {
    const C* data;
    std::int64_t stride;
  };

  std::int64_t elements_of_block() const { return blocks_.rows * blocks_.columns; }

  area area_of(std::int64_t block) const {
    const std::int64_t row = block % blocks_.row_blocks * blocks_.rows;
    const std::int64_t of_columns = block / blocks_.row_blocks;
    const std::int64_t column = of_columns % blocks_.column_blocks * blocks_.columns;
    return {of_columns / blocks_.column_blocks, row, column, std::min(blocks_.rows, problem_.m - row),
            std::min(blocks_.columns, problem_.n - column)};
  }

  const C* a_of(const area& at, std::int64_t row, std::int64_t p) const {
    const gemm_matrix<const C>& a = problem_.a;
    return a.data + at.batch * a.batch_stride + (at.row + row) * a.row_stride + p * a.column_stride;
  }

  C* c_of(const area& at, std::int64_t row) const {
    const gemm_matrix<C>& c = problem_.c;
    return c.data + at.batch * c.batch_stride + (at.row + row) * c.row_stride + at.column * c.column_stride;
  }

  /// Calls function<Rows>(row) for the tiles of a block, from its first row on.
  template <class Function>
  static void for_each_tile(const area& at, const Function& function) {
    std::int64_t row = 0;
    const auto call = [&]<int Rows>(std::integral_constant<int, Rows>) {
      for (; at.rows - row >= Rows; row += Rows) function.template operator()<Rows>(row);
    };
    if (at.columns <= lanes) call(std::integral_constant<int, 2 * tile_rows>{});
    call(std::integral_constant<int, tile_rows>{});
    if constexpr (tile_rows > 8) call(std::integral_constant<int, 8>{});
    if constexpr (tile_rows > 6) call(std::integral_constant<int, 6>{});
    call(std::integral_constant<int, 5>{});
    call(std::integral_constant<int, 4>{});
    call(std::integral_constant<int, 3>{});
    call(std::integral_constant<int, 2>{});
    call(std::integral_constant<int, 1>{});
  }

  /// Whether rows of B that are narrower than a panel are read where they are: they have no gaps, so a panel reads on
  /// in the row behind. The last rows, behind which nothing is, are copied.
  bool reads_on(const area& at) const {
    return at.columns < panel && problem_.b.row_stride == problem_.n && !blocks_.copies_b;
  }

  /// The depth of the next block: what is copied fits into the memory for it.
  std::int64_t depth_from(const area& at, std::int64_t p, std::int64_t end) const {
    const std::int64_t depth = std::min(blocks_.depth, end - p);
    if (!copies(at)) return depth;
    if (reads_on(at)) {
      const std::int64_t safe = problem_.k - (panel + problem_.n - 1) / problem_.n;
      if (p < safe) return std::min(depth, safe - p);
    }
    return std::min(depth, most_copied(at));
  }

  /// Whether rows of B are copied, if they are not read on.
  bool copies(const area& at) const { return blocks_.copies_b || at.columns < panel; }
  /// The rows for which there is memory.
  static std::int64_t most_copied(const area& at) { return sizes::copied_elements / padded(at.columns); }
  static std::int64_t padded(std::int64_t columns) { return (columns + panel - 1) / panel * panel; }

  operand_b columns_of_b(const area& at, std::int64_t p, std::int64_t depth, C* copied) const {
    const gemm_matrix<const C>& b = problem_.b;
    const C* const from = b.data + at.batch * b.batch_stride + p * b.row_stride + at.column * b.column_stride;
    const bool is_inside = (problem_.k - p - depth) * problem_.n >= panel;
    if (!copies(at) || (reads_on(at) && is_inside)) return {from, b.row_stride};
    const std::int64_t stride = padded(at.columns);
    if (reads_on(at)) {
      copy_narrow_rows(from, depth, (problem_.k - p) * problem_.n - at.column, copied);
    } else {
      copy_columns(from, at.columns, depth, copied, stride);
    }
    return {copied, stride};
  }

  /// Copies rows that are narrower than a panel and have no gaps between them. What is copied behind the end of a row
  /// gives sums that nobody reads. `there` elements lie in memory.
  void copy_narrow_rows(const C* from, std::int64_t depth, std::int64_t there, C* to) const {
    for (std::int64_t p = 0; p < depth; ++p, from += problem_.n, there -= problem_.n, to += panel) {
      if (there >= panel) {
        vector::load(from).store(to);
        vector::load(from + lanes).store(to + lanes);
      } else {
        for (std::int64_t j = 0; j < panel; ++j) to[j] = j < there ? from[j] : C(0);
      }
    }
  }

  /// Copies columns of B to rows without gaps. They are filled up with zeros.
  void copy_columns(const C* from, std::int64_t columns, std::int64_t depth, C* to, std::int64_t stride) const {
    const gemm_matrix<const C>& b = problem_.b;
    if (b.column_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p, from += b.row_stride, to += stride) {
        std::copy_n(from, columns, to);
        std::fill(to + columns, to + stride, C(0));
      }
      return;
    }
    using word = prumo::detail::word_of<C>;
    using square = prumo::detail::lane_square<word>;
    const bool turns = b.row_stride == 1;
    for (std::int64_t j = 0; j < columns;) {
      const bool is_square = turns && j + square::side <= columns;
      const C* const column = from + j * b.column_stride;
      const std::int64_t width = is_square ? square::side : 1;
      std::int64_t p = 0;
      for (; is_square && p + square::side <= depth; p += square::side) {
        square::transpose(reinterpret_cast<const word*>(column + p), b.column_stride,
                          reinterpret_cast<word*>(to + p * stride + j), stride);
      }
      for (; p < depth; ++p) {
        for (std::int64_t w = 0; w < width; ++w) {
          to[p * stride + j + w] = column[p * b.row_stride + w * b.column_stride];
        }
      }
      j += width;
    }
    for (std::int64_t p = 0; p < depth; ++p) std::fill(to + p * stride + columns, to + (p + 1) * stride, C(0));
  }

  /// Rows of C whose sums are complete in registers.
  template <int Rows>
  void multiply_and_finish(const operand_b& b, const area& at, std::int64_t row, C* sums) const {
    const bool to_c = writes_sums_ && (at.columns >= panel || is_overwritten(at, row + Rows - 1));
    const C* const a = a_of(at, row, 0);
    if (to_c) return multiply<Rows, false>(a, b, problem_.k, c_of(at, row), problem_.c.row_stride, at.columns, true);
    multiply<Rows, false>(a, b, problem_.k, sums, blocks_.columns, at.columns, false);
    for (int i = 0; i < Rows; ++i) finish_row(sums + i * blocks_.columns, at, row + i);
  }

  /// Whether a panel of sums may be written over the end of this row, because the rows behind it, which are written
  /// afterwards, reach farther.
  bool is_overwritten(const area& at, std::int64_t row) const {
    const std::int64_t written = at.columns <= lanes ? lanes : panel;
    return problem_.c.row_stride == problem_.n && problem_.n < panel && (at.rows - row) * problem_.n >= written;
  }

  /// The last panel of a row, if it is not whole. It ends where the row ends, so some sums are computed twice, with the
  /// same result. Rows that are narrower have one panel, which reaches behind their end.
  struct last_panel {
    std::int64_t whole;  ///< columns in whole panels
    std::int64_t left;   ///< columns behind them
    std::int64_t begin;  ///< the panel's first column

    explicit last_panel(std::int64_t columns)
        : whole(columns / panel * panel),
          left(columns - whole),
          begin(std::max<std::int64_t>(0, columns - (left <= lanes ? lanes : panel))) {}
  };

  /// Sums of some rows and all columns of a block, added to those that are there if it Adds. In place, the last panel
  /// is where it is in C. Elsewhere it is behind the whole panels, so that sums are kept twice that are computed twice.
  template <int Rows, bool Adds>
  void multiply(const C* a, const operand_b& b, std::int64_t depth, C* to, std::int64_t to_stride, std::int64_t columns,
                bool in_place) const {
    constexpr int most_vectors = sizes::vectors_of(Rows);
    const last_panel last(columns);
    std::int64_t j = 0;
    const auto multiply_whole = [&]<int Vectors>(std::integral_constant<int, Vectors>) {
      for (; j + Vectors * lanes <= last.whole; j += Vectors * lanes) {
        multiply_panel<Rows, Vectors, Adds>(a, b.data + j, b.stride, depth, to + j, to_stride);
      }
    };
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, most_vectors>{});
    if constexpr (most_vectors > 6) multiply_whole(std::integral_constant<int, 6>{});
    if constexpr (most_vectors >= 4) multiply_whole(std::integral_constant<int, 4>{});
    if constexpr (most_vectors >= 2) multiply_whole(std::integral_constant<int, 2>{});
    if (last.left == 0) return;
    C* const place = to + (in_place ? last.begin : j);
    if (most_vectors == 1 || last.left <= lanes) {
      multiply_panel<Rows, 1, Adds>(a, b.data + last.begin, b.stride, depth, place, to_stride);
    } else if constexpr (most_vectors > 1) {
      multiply_panel<Rows, 2, Adds>(a, b.data + last.begin, b.stride, depth, place, to_stride);
    }
  }

  template <int Rows, int Vectors, bool Adds>
  void multiply_panel(const C* a, const C* b, std::int64_t b_stride, std::int64_t depth, C* to,
                      std::int64_t to_stride) const {
    const std::int64_t row_stride = problem_.a.row_stride, column_stride = problem_.a.column_stride;
    vector held[Rows][Vectors];
    if constexpr (!Adds) {
      prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j)
                                                          PRUMO_ALWAYS_INLINE { held[i][j] = vector(C(0)); });
    } else {
      prumo::detail::for_each_register<Rows, Vectors>(
          [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j] = vector::load(to + i * to_stride + j * lanes); });
    }
    // Without a way around the loop, sums are in the same registers before and behind it.
    std::int64_t left = depth;
    do {
      if constexpr (Vectors > Rows) {
        vector factors[Rows];
        prumo::detail::for_each_register<Rows, 1>([&](int i, int)
                                                      PRUMO_ALWAYS_INLINE { factors[i] = vector(a[i * row_stride]); });
        prumo::detail::for_each_register<Vectors, Rows>([&](int j, int i) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(vector::load(b + j * lanes), factors[i], held[i][j]);
        });
      } else {
        // Rows of B may lie so far from each other that processors do not see that they are read one after the other.
        if constexpr (Adds) __builtin_prefetch(b + 16 * b_stride);
        vector factors[Vectors];
        prumo::detail::for_each_register<1, Vectors>(
            [&](int, int j) PRUMO_ALWAYS_INLINE { factors[j] = vector::load(b + j * lanes); });
        prumo::detail::for_each_register<Rows, Vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE {
          held[i][j] = fma(vector(a[i * row_stride]), factors[j], held[i][j]);
        });
      }
      a += column_stride;
      b += b_stride;
    } while (--left > 0);
    prumo::detail::for_each_register<Rows, Vectors>(
        [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(to + i * to_stride + j * lanes); });
  }

  void finish(const area& at, C* sums) const {
    for (std::int64_t row = 0; row < at.rows; ++row) finish_row(sums + row * blocks_.columns, at, row);
  }

  /// Makes a row of a block of C of its sums.
  void finish_row(C* sums, const area& at, std::int64_t row) const {
    const std::int64_t count = at.columns;
    const last_panel last(count);
    if (last.begin < last.whole) std::copy_n(sums + 2 * last.whole - last.begin, last.left, sums + last.whole);
    const std::int64_t stride = problem_.c.column_stride;
    C* const to = c_of(at, row);
    const C alpha = problem_.alpha, beta = problem_.beta;
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      if constexpr (Form != scaled_form::store) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t j = 0; j < count; ++j) {
          sums[j] = scaled_entry<Form, C>(alpha, beta, sums[j], to[j * stride]);
        }
      }
    });
    if (problem_.has_epilogue()) {
      finish_entries(problem_.has_bias ? &problem_.bias : nullptr, problem_.activation, at.row + row, at.column, sums,
                     count);
    }
    if (streams_) {
      prumo::detail::stream_run(to, sums, count);
    } else if (stride == 1) {
      std::copy_n(sums, count, to);
    } else {
      for (std::int64_t j = 0; j < count; ++j) to[j * stride] = sums[j];
    }
  }

  gemm_problem<C> problem_;
  direct_blocks blocks_;
  C* workspace_ = nullptr;
  scaled_form form_;
  bool streams_;
  bool writes_sums_;  ///< registers go to C
};

/// Adds up what the kernel's parts left in the workspace.
template <class C>
struct direct_combination_kernel {
  direct_gemm_host_kernel<C> product;

  std::int64_t blocks() const { return product.blocks_of_c(); }
  void operator()(std::int64_t block) const { product.combine(block); }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
