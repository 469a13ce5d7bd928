// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of matrices on host cores where copying A and B would take as long as multiplying them. A tile of sums
/// stays in registers over a block of the depth k. Rows of A are read where they are, and so is B, unless its columns
/// have gaps. direct_blocks.hpp tells how C and k are cut, direct_tiles_host.hpp multiplies, direct_narrow_host.hpp
/// does so for a C with short rows, direct_streams_host.hpp past the caches, and direct_columns_host.hpp copies.
///
/// Each sum is a chain of fused multiply-adds in the order of k, or as many chains as k has parts, which are added up
/// in their order. The extents alone decide about the parts, so results depend neither on the number of threads nor on
/// how C is cut.

#include "direct_blocks.hpp"
#include "direct_columns_host.hpp"
#include "direct_narrow_host.hpp"
#include "direct_results_host.hpp"
#include "direct_streams_host.hpp"
#include "direct_tiles_host.hpp"
#include "direct_widening_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

template <class T>
class direct_gemm_host_kernel {
  using C = compute_t<T>;
  using sizes = direct_sizes<C>;
  using tiles = direct_tiles<C>;
  using operand_a = typename tiles::operand_a;
  using operand_b = typename tiles::operand_b;
  using results = direct_results<T>;
  using area = direct_area;
  static constexpr int lanes = simd<C>::lanes;
  static constexpr std::int64_t panel = sizes::panel;
  static constexpr bool widens = widens_for_direct<T>;
  /// Whether sums become numbers of C in registers, because there are instructions for it.
  static constexpr bool may_narrow = !widens || std::is_same_v<T, bf16> || prumo::detail::has_vector_narrowing<T>;

  /// Whether C may go past the caches. Lines that two rows share are written twice then, which costs more than it
  /// saves if rows are short. And if writing takes only a part of the time, ordinary stores are written back while sums
  /// are computed. A Zen 4 took 1.3 to 2.7 times as long for rows of 100 to 200 numbers that went past the caches,
  /// whole lines or not, and gains from 300 on.
  static bool may_stream(const gemm_problem<T>& problem, const results& of) {
    constexpr std::int64_t line = direct_blocks::line_elements<T>;
    constexpr bool needs_long_rows = prumo::detail::streams_few_lines_slowly;
    constexpr std::int64_t few_lines = needs_long_rows ? 18 : 6, some_lines = needs_long_rows ? 18 : 16;
    constexpr std::int64_t short_sum = 16, longer_sum = 20;
    if (widens || problem.c.column_stride != 1 || of.reads_c()) return false;
    const bool has_tiles = has_direct_streams && of.stores_plain_sums(), has_long_rows = problem.n >= some_lines * line;
    if (problem.k > short_sum) {
      return has_tiles && has_long_rows && problem.b.column_stride == 1 && problem.k <= longer_sum;
    }
    const bool has_whole_lines = problem.n % line == 0 && problem.c.row_stride % line == 0;
    return has_long_rows || ((has_tiles || has_whole_lines) && problem.n >= few_lines * line);
  }

 public:
  /// \param streams whether C goes past the caches, where it is not read
  direct_gemm_host_kernel(const gemm_problem<T>& problem, bool streams, std::int64_t threads)
      : problem_(problem),
        results_(problem),
        blocks_(direct_blocks::of(problem, threads, streams && may_stream(problem, results_),
                                  may_narrow && results_.stores_sums())) {}

  std::int64_t blocks() const { return blocks_of_c() * blocks_.parts; }
  std::int64_t blocks_of_c() const { return problem_.batch * blocks_.row_blocks * blocks_.column_blocks; }

  /// Elements of the workspace for the sums of all parts; none if there is one part.
  std::int64_t workspace_elements() const { return blocks_.parts > 1 ? blocks() * elements_of_block() : 0; }
  void set_workspace(C* workspace) { workspace_ = workspace; }

  void operator()(std::int64_t block) const {
    const area at = area_of(block % blocks_of_c());
    const std::int64_t begin = block / blocks_of_c() * blocks_.part_depth;
    const std::int64_t end = std::min(problem_.k, begin + blocks_.part_depth);
    alignas(64) C memory[sizes::kept_elements];
    alignas(64) C copied[sizes::whole_rows_elements];
    alignas(64) C widened[widens ? sizes::widened_elements : 1];
    alignas(64) C bias[results::epilogue_elements];
    const direct_columns_of_b<T> columns(problem_, blocks_);
    const direct_rows_of_a<T> rows_of_a(problem_);
    const tile_epilogue<C> epilogue = results_.epilogue_of_tiles(at, bias);
    if (blocks_.has_whole_rows && at.rows >= direct_narrow<C>::fewest_rows) {
      multiply_narrow(columns, rows_of_a, at, epilogue, copied, widened, memory);
    } else if (!blocks_.keeps_sums && columns.is_read_at_once(at.columns)) {
      operand_b b = columns.at(at.batch, at.column, at.columns, 0, problem_.k, copied);
      if constexpr (widens) {
        multiply_and_narrow(rows_of_a, b, at, epilogue, widened, memory);
      } else if (has_direct_streams && blocks_.streams && results_.stores_plain_sums()) {
        multiply_and_stream(rows_of_a, b, at);
      } else {
        b.ahead = ahead_of_first_tile(at);
        tiles::for_each(at.rows, at.columns, rows_of_low_tiles(at, results_.stores_sums() && !blocks_.streams),
                        [&]<int Rows>(std::int64_t row, std::int64_t rows, std::int64_t tiles_here) {
                          multiply_and_finish<Rows>(rows_of_a, b, at, epilogue, row, rows, tiles_here, memory);
                          b.ahead = 0;
                        });
      }
    } else {
      C* const kept = blocks_.parts > 1 ? workspace_ + block * elements_of_block() : memory;
      std::fill_n(kept, at.rows * blocks_.columns, C(0));
      for (std::int64_t p = begin; p < end;) {
        const std::int64_t depth = columns.depth_from(at.columns, p, end);
        operand_b b = columns.at(at.batch, at.column, at.columns, p, depth, copied);
        b.ahead = blocks_.rows_ahead * b.stride;
        for_each_tile(at, [&]<int Rows>(std::int64_t row, std::int64_t rows) {
          const operand_a a = rows_of_a.at(at.batch, at.row + row, rows, p, depth, widened);
          tiles::template multiply<Rows, true>(a, b, depth, kept + row * blocks_.columns, blocks_.columns, rows,
                                               at.columns, false);
        });
        p += depth;
      }
      if (blocks_.parts == 1) finish(at, kept);
    }
    if (blocks_.streams) prumo::detail::streaming_fence();
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
    if (blocks_.streams) prumo::detail::streaming_fence();
  }

 private:
  std::int64_t elements_of_block() const { return blocks_.rows * blocks_.columns; }

  area area_of(std::int64_t block) const {
    const std::int64_t of_matrix = blocks_.row_blocks * blocks_.column_blocks;
    const std::int64_t within = block % of_matrix;
    const bool by_rows = blocks_.are_rows_first;
    const std::int64_t inner = by_rows ? blocks_.column_blocks : blocks_.row_blocks;
    const std::int64_t row = (by_rows ? within / inner : within % inner) * blocks_.rows;
    const std::int64_t column = (by_rows ? within % inner : within / inner) * blocks_.columns;
    const std::int64_t front = column == 0 ? 0 : blocks_.front;
    return {block / of_matrix, row, column - front, std::min(blocks_.rows, problem_.m - row),
            std::min(blocks_.columns, problem_.n - column) + front};
  }

  int rows_of_low_tiles(const area& at, bool to_c) const {
    return tiles::rows_of_low_tiles(at.columns, problem_.k, to_c, blocks_.is_c_far);
  }

  /// Calls function<Rows>(row, count) for each tile of a block.
  template <class Function>
  void for_each_tile(const area& at, const Function& function) const {
    const auto call = [&]<int Rows>(std::int64_t row, std::int64_t rows, std::int64_t count) {
      for (std::int64_t tile = 0; tile < count; ++tile) function.template operator()<Rows>(row + tile * rows, rows);
    };
    tiles::for_each(at.rows, at.columns, 0, call);
  }

  /// Computes a block of C whose rows are so short that tiles write them as a whole. Sums of 16-bit numbers that are
  /// not C's yet are kept first.
  void multiply_narrow(const direct_columns_of_b<T>& columns, const direct_rows_of_a<T>& rows_of_a, const area& at,
                       const tile_epilogue<C>& epilogue, C* copied, C* widened, C* sums) const {
    if constexpr (may_narrow) {
      using narrow = direct_narrow<C>;
      const C* const b = columns.in_vectors(at.batch, narrow::leaves_lanes_out(at.columns), copied);
      const bool finishes = results_.has_epilogue_after(epilogue), keeps = widens && finishes;
      const std::int64_t most_widened = widens ? rows_of_a.most_widened() : at.rows;
      const std::int64_t most_finished = finishes ? results::rows_to_finish(at) : at.rows;
      const std::int64_t pieces = divide_up(at.rows, std::min(most_widened, most_finished));
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const std::int64_t begin = at.rows * piece / pieces, rows = at.rows * (piece + 1) / pieces - begin;
        operand_a a = rows_of_a.at(at.batch, at.row + begin, rows, 0, problem_.k, widened);
        a.is_followed = blocks_.prefetches_a;
        const auto multiply_to = [&](auto* to, std::int64_t stride) {
          using result = std::remove_pointer_t<decltype(to)>;
          narrow::multiply(a, b, problem_.k,
                           typename narrow::template area<result>{to, stride, rows, at.columns, epilogue});
        };
        if (keeps) {
          multiply_to(sums, at.columns);
          results_.write_rows(sums, at, begin, rows);
        } else {
          multiply_to(results_.row_of(at, begin), problem_.c.row_stride);
          if (finishes) results_.finish_in_place(at, begin, rows);
        }
      }
    }
  }

  /// How far the first tile of a block reads ahead in B; 0 if it does not. It reads ahead to what the next block reads,
  /// if B is far away or caches are small, and otherwise to rows of its own. A near B is not read ahead if sums are so
  /// short that its rows are read at once. With small caches, this holds for a far B, too.
  std::int64_t ahead_of_first_tile(const area& at) const {
    constexpr std::int64_t rows_ahead = 16, short_sum = 48;
    if (blocks_.copies_b) return 0;
    const bool has_long_sums = problem_.k > short_sum;
    if (!sizes::has_large_caches) return has_long_sums ? at.columns : 0;
    return blocks_.is_far ? at.columns : has_long_sums ? rows_ahead * problem_.b.row_stride : 0;
  }

  /// Computes tiles of C of `rows` rows, whose sums are complete in registers.
  template <int Rows>
  void multiply_and_finish(const direct_rows_of_a<T>& rows_of_a, const operand_b& b, const area& at,
                           const tile_epilogue<C>& epilogue, std::int64_t row, std::int64_t rows, std::int64_t count,
                           C* sums) const {
    const auto multiply = [&](std::int64_t first, C* to, std::int64_t stride, bool to_c, std::int64_t several) {
      operand_a a = rows_of_a.at(at.batch, at.row + first, rows, 0, problem_.k, nullptr);
      a.is_followed = blocks_.prefetches_a && at.column == 0;
      tiles::template multiply<Rows, false>(a, b, problem_.k, to, stride, rows, at.columns, to_c, several,
                                            to_c ? epilogue : tile_epilogue<C>{});
    };
    std::int64_t done = 0;
    if constexpr (!widens) {
      std::int64_t in_place = 0;
      if (results_.stores_sums() && !blocks_.streams) {
        in_place =
            at.columns >= panel ? count : std::clamp<std::int64_t>((overwritten_rows(at) - row) / rows, 0, count);
      }
      const bool finishes = results_.has_epilogue_after(epilogue);
      const std::int64_t most = finishes ? divide_up(results::rows_to_finish(at), rows) : count;
      while (done < in_place) {
        const std::int64_t first = row + done * rows, several = std::min(most, in_place - done);
        multiply(first, results_.row_of(at, first), problem_.c.row_stride, true, several);
        if (finishes) results_.finish_in_place(at, first, several * rows);
        done += several;
      }
    }
    // Not as long as rows of other blocks: the last block of a row may be so narrow that its tiles have more rows.
    const std::int64_t stride = prumo::detail::round_up(at.columns, panel);
    for (; done < count; ++done) {
      const std::int64_t first = row + done * rows;
      multiply(first, sums, stride, false, 1);
      for (std::int64_t i = 0; i < rows; ++i) finish_row(sums + i * stride, at, first + i);
    }
  }

  /// The same for all tiles of a block of C that goes past the caches.
  void multiply_and_stream([[maybe_unused]] const direct_rows_of_a<T>& rows_of_a, [[maybe_unused]] const operand_b& b,
                           [[maybe_unused]] const area& at) const {
    if constexpr (has_direct_streams) {
      using streams = direct_streams<C>;
      const auto multiply = [&]<int Rows>(std::int64_t row) {
        const operand_a a = rows_of_a.at(at.batch, at.row + row, Rows, 0, problem_.k, nullptr);
        streams::template multiply<Rows>(a, b, problem_.k,
                                         {results_.row_of(at, row), problem_.c.row_stride, at.columns, at.column == 0,
                                          at.column + at.columns == problem_.n});
      };
      std::int64_t row = 0;
      for (; at.rows - row >= 3; row += 3) multiply.template operator()<3>(row);
      if (at.rows - row == 2) multiply.template operator()<2>(row);
      if (at.rows - row == 1) multiply.template operator()<1>(row);
    }
  }

  /// Sums of 16-bit numbers, complete in registers. They are narrowed there where C is these sums. Otherwise rows of
  /// them are kept without gaps, so that a panel may be written over the end of a row, and are narrowed together.
  void multiply_and_narrow(const direct_rows_of_a<T>& rows_of_a, const operand_b& b, const area& at,
                           const tile_epilogue<C>& epilogue, C* widened, C* sums) const {
    const bool stores_finished = results_.stores_sums() && !results_.has_epilogue_after(epilogue);
    const bool in_place = may_narrow && stores_finished && at.columns >= panel;
    std::int64_t begin = 0, kept = 0;
    const auto finish_kept = [&] {
      results_.write_rows(sums, at, begin, kept);
      begin += kept;
      kept = 0;
    };
    const std::int64_t widened_rows = rows_of_a.most_widened(), kept_rows = (sizes::kept_elements - panel) / at.columns;
    const auto multiply = [&]<int Rows>(std::int64_t row, std::int64_t rows, std::int64_t count) {
      for (std::int64_t done = 0; done < count;) {
        if (!in_place && kept + rows > kept_rows) finish_kept();
        const std::int64_t most = in_place ? widened_rows : std::min(kept_rows - kept, widened_rows);
        const std::int64_t tiles_here = std::clamp<std::int64_t>(most / rows, 1, count - done);
        const std::int64_t first = row + done * rows;
        const operand_a a = rows_of_a.at(at.batch, at.row + first, tiles_here * rows, 0, problem_.k, widened);
        const auto multiply_to = [&](auto* to, std::int64_t stride) {
          tiles::template multiply<Rows, false>(a, b, problem_.k, to, stride, rows, at.columns, true, tiles_here,
                                                in_place ? epilogue : tile_epilogue<C>{});
        };
        done += tiles_here;
        if constexpr (may_narrow) {
          if (in_place) {
            multiply_to(results_.row_of(at, first), problem_.c.row_stride);
            continue;
          }
        }
        multiply_to(sums + kept * at.columns, at.columns);
        kept += tiles_here * rows;
      }
    };
    tiles::for_each(at.rows, at.columns, rows_of_low_tiles(at, in_place), multiply);
    if (!in_place) finish_kept();
  }

  /// Over the ends of so many rows of a block a panel of sums may be written, because the rows behind them, which are
  /// written afterwards, reach farther.
  std::int64_t overwritten_rows(const area& at) const {
    const std::int64_t written = at.columns <= lanes ? lanes : panel;
    const bool has_no_gaps = problem_.c.row_stride == problem_.n && problem_.n < panel;
    return has_no_gaps ? at.rows - divide_up(written, problem_.n) + 1 : 0;
  }

  void finish(const area& at, C* sums) const {
    for (std::int64_t row = 0; row < at.rows; ++row) finish_row(sums + row * blocks_.columns, at, row);
  }

  /// Makes a row of a block of C of its sums, of which tiles have kept those in the overlap of panels twice.
  void finish_row(C* sums, const area& at, std::int64_t row) const {
    const typename tiles::last_panel last(at.columns);
    if (last.begin < last.whole) std::copy_n(sums + 2 * last.whole - last.begin, last.left, sums + last.whole);
    results_.write_row(sums, at, row, blocks_.streams);
  }

  gemm_problem<T> problem_;
  results results_;
  direct_blocks blocks_;
  C* workspace_ = nullptr;
};

/// Adds up what the kernel's parts left in the workspace.
template <class T>
struct direct_combination_kernel {
  direct_gemm_host_kernel<T> product;

  std::int64_t blocks() const { return product.blocks_of_c(); }
  void operator()(std::int64_t block) const { product.combine(block); }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
