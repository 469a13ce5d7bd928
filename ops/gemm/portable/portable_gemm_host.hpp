// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product on host cores, with the structure of Goto and van de Geijn, "Anatomy of high-performance
/// matrix multiplication", ACM TOMS 34 (2008): blocks of A and B are copied into slivers that the innermost
/// loop reads in order, and a block of sums stays in registers over the length of a sliver.

#include "gemm_entries.hpp"
#include "gemm_problem.hpp"
#include "row_epilogue_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/rounding.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

using prumo::detail::divide_up;
using prumo::detail::round_up;

/// The block of sums that the innermost loop holds in registers.
template <class C>
struct register_tile {
  using vector = simd<C>;
  static constexpr bool vectorised = vector::lanes > 1;
  static constexpr int rows = vectorised ? (simd_has_many_registers ? 12 : 6) : 4;
  static constexpr int vectors = vectorised ? 2 : 4;
  static constexpr int columns = vectors * vector::lanes;
};

/// How the product is cut: a macro-tile of C is one team's work item, `depth` the length of a sliver.
struct host_tiling {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
};

/// The largest macro-tile. Slivers of B and one of A fit into a first-level cache of 32 KiB, and the blocks of A, B and
/// sums into about 1 MiB of the second level.
template <class C>
constexpr host_tiling largest_host_tiling() {
  using tile = register_tile<C>;
  constexpr std::int64_t wide = sizeof(C) > 4 ? 192 : 384;
  return {round_up(240, tile::rows), round_up(wide, tile::columns), 256};
}

/// The tiles for `workers` teams. Of the largest tile and its halves, this takes the one with the least work for the
/// slowest team, copying included. Then it makes the tiles equally large over the matrix.
template <class C>
host_tiling choose_host_tiling(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                               std::int64_t workers) {
  using tile = register_tile<C>;
  constexpr host_tiling largest = largest_host_tiling<C>();
  host_tiling best;
  double best_cost = 0;
  for (std::int64_t rows = largest.rows; rows >= tile::rows; rows /= 2) {
    for (std::int64_t columns = largest.columns; columns >= tile::columns; columns /= 2) {
      host_tiling candidate;
      candidate.rows = round_up(divide_up(m, divide_up(m, rows)), tile::rows);
      candidate.columns = round_up(divide_up(n, divide_up(n, columns)), tile::columns);
      const std::int64_t tiles = divide_up(m, candidate.rows) * divide_up(n, candidate.columns) * batch;
      // Copying an element takes about as long as 16 multiply-adds of a vectorised loop.
      const auto area = static_cast<double>(candidate.rows * candidate.columns);
      const auto edges = static_cast<double>(candidate.rows + candidate.columns);
      const double cost = static_cast<double>(divide_up(tiles, workers)) * (area + 16 * edges);
      if (best.rows == 0 || cost < best_cost) {
        best = candidate;
        best_cost = cost;
      }
    }
  }
  best.depth = divide_up(k, divide_up(k, largest.depth));
  return best;
}

/// C = act(alpha A B + beta C + bias) for k > 0. Each team has its own macro-tiles and its own part of the workspace.
/// With counted scalars register_tile is not vectorised, and the count of operations does not depend on the tiles.
/// Vector registers also compute the padding of tiles at the edges, which is not counted.
template <class T>
class portable_gemm_host_kernel {
  using C = compute_t<T>;
  using tile = register_tile<C>;
  using vector = typename tile::vector;

 public:
  portable_gemm_host_kernel(const gemm_problem<T>& problem, const host_tiling& tiling, void* workspace)
      : problem_(problem),
        tiling_(tiling),
        row_tiles_(divide_up(problem.m, tiling.rows)),
        column_tiles_(divide_up(problem.n, tiling.columns)),
        workspace_(static_cast<std::byte*>(workspace)),
        form_(choose_form(problem.alpha, problem.beta)) {}

  std::int64_t tiles() const { return row_tiles_ * column_tiles_ * problem_.batch; }

  /// The bytes of workspace for each team.
  static std::size_t workspace_bytes(const host_tiling& tiling) {
    const std::int64_t elements = block_of_a(tiling) + tiling.columns * tiling.depth + tiling.rows * tiling.columns;
    return static_cast<std::size_t>(round_up(elements * static_cast<std::int64_t>(sizeof(C)), 4096)) + 256;
  }

  template <class Member>
  void operator()(const Member& member) const {
    for (std::int64_t index = member.league_rank(); index < tiles(); index += member.league_size()) {
      compute_macro_tile(member, index);
    }
  }

 private:
  struct buffers {
    C* a;
    C* b;
    C* sums;
  };

  /// A macro-tile: where it begins in C, and its extents.
  struct macro_tile {
    std::int64_t row;
    std::int64_t column;
    std::int64_t rows;
    std::int64_t columns;
    T* c;
  };

  /// The number of elements for the block of A, so that the next block is aligned for vector registers.
  static constexpr std::int64_t block_of_a(const host_tiling& tiling) {
    return round_up(tiling.rows * tiling.depth, 64);
  }

  buffers buffers_of(int team) const {
    auto* const begin = reinterpret_cast<C*>(workspace_ + static_cast<std::size_t>(team) * workspace_bytes(tiling_));
    C* const b = begin + block_of_a(tiling_);
    return {begin, b, b + tiling_.columns * tiling_.depth};
  }

  template <class Member>
  void compute_macro_tile(const Member& member, std::int64_t index) const {
    const std::int64_t batch = index / (row_tiles_ * column_tiles_);
    const std::int64_t within = index % (row_tiles_ * column_tiles_);
    const std::int64_t row = within % row_tiles_ * tiling_.rows;
    const std::int64_t column = within / row_tiles_ * tiling_.columns;
    const std::int64_t rows = std::min(tiling_.rows, problem_.m - row);
    const std::int64_t columns = std::min(tiling_.columns, problem_.n - column);
    const auto& [a, b, c] = std::tie(problem_.a, problem_.b, problem_.c);
    const T* const a_tile = a.data + batch * a.batch_stride + row * a.row_stride;
    const T* const b_tile = b.data + batch * b.batch_stride + column * b.column_stride;
    T* const c_tile = c.data + batch * c.batch_stride + row * c.row_stride + column * c.column_stride;
    const buffers own = buffers_of(member.league_rank());

    for (std::int64_t begin = 0; begin < problem_.k; begin += tiling_.depth) {
      const std::int64_t depth = std::min(tiling_.depth, problem_.k - begin);
      pack<tile::rows>(member, own.a, a_tile + begin * a.column_stride, rows, depth, a.row_stride, a.column_stride);
      pack<tile::columns>(member, own.b, b_tile + begin * b.row_stride, columns, depth, b.column_stride, b.row_stride);
      member.team_barrier();
      multiply(member, own, {row, column, rows, columns, c_tile}, depth, begin == 0, begin + depth == problem_.k);
      member.team_barrier();
    }
  }

  /// Copies `count` rows of `depth` elements into slivers of Width rows, element by element of the depth; the
  /// last sliver is filled up with zeros.
  template <int Width, class Member>
  static void pack(const Member& member, C* to, const T* from, std::int64_t count, std::int64_t depth,
                   std::int64_t along, std::int64_t deep) {
    for (std::int64_t sliver = member.team_rank(); sliver * Width < count; sliver += member.team_size()) {
      C* const out = to + sliver * Width * depth;
      const T* const in = from + sliver * Width * along;
      const std::int64_t width = std::min<std::int64_t>(Width, count - sliver * Width);
      if (converts_runs && deep == 1) {
        pack_rows_converted<Width>(out, in, width, depth, along);
      } else if (converts_runs && along == 1) {
        pack_columns_converted<Width>(out, in, width, depth, deep);
      } else if (width < Width) {
        pack_edge<Width>(out, in, width, depth, along, deep);
      } else if (along == 1) {
        for (std::int64_t p = 0; p < depth; ++p) {
          PRUMO_INDEPENDENT_ITERATIONS
          for (int w = 0; w < Width; ++w) out[p * Width + w] = static_cast<C>(in[p * deep + w]);
        }
      } else {
        pack_across<Width>(out, in, depth, along, deep);
      }
    }
  }

  /// 16-bit numbers, which are converted in vectors as they lie. One at a time takes several times as long.
  static constexpr bool converts_runs = sizeof(T) == 2 && std::is_same_v<C, float>;

  template <int Width>
  static void pack_rows_converted([[maybe_unused]] C* out, [[maybe_unused]] const T* in,
                                  [[maybe_unused]] std::int64_t width, [[maybe_unused]] std::int64_t depth,
                                  [[maybe_unused]] std::int64_t along) {
    if constexpr (converts_runs) {
      C row[largest_host_tiling<C>().depth];
      for (std::int64_t w = 0; w < Width; ++w) {
        if (w < width) {
          prumo::detail::widen(in + w * along, row, depth);
        } else {
          std::fill(row, row + depth, C(0));
        }
        for (std::int64_t p = 0; p < depth; ++p) out[p * Width + w] = row[p];
      }
    }
  }

  template <int Width>
  static void pack_columns_converted([[maybe_unused]] C* out, [[maybe_unused]] const T* in,
                                     [[maybe_unused]] std::int64_t width, [[maybe_unused]] std::int64_t depth,
                                     [[maybe_unused]] std::int64_t deep) {
    if constexpr (converts_runs) {
      for (std::int64_t p = 0; p < depth; ++p, out += Width) {
        prumo::detail::widen(in + p * deep, out, width);
        std::fill(out + width, out + Width, C(0));
      }
    }
  }

  template <int Width>
  static void pack_edge(C* out, const T* in, std::int64_t width, std::int64_t depth, std::int64_t along,
                        std::int64_t deep) {
    for (std::int64_t p = 0; p < depth; ++p) {
      for (std::int64_t w = 0; w < width; ++w) out[p * Width + w] = static_cast<C>(in[p * deep + w * along]);
      for (std::int64_t w = width; w < Width; ++w) out[p * Width + w] = C(0);
    }
  }

  /// The number of rows at a time. It is small, because rows that are a power of two apart share sets of the
  /// first-level cache.
  template <int Width>
  static void pack_across(C* out, const T* in, std::int64_t depth, std::int64_t along, std::int64_t deep) {
    constexpr int group = Width % 4 == 0 ? 4 : 2;
    static_assert(Width % group == 0);
    for (int first = 0; first < Width; first += group) {
      const T* const rows = in + first * along;
      for (std::int64_t p = 0; p < depth; ++p) {
        for (int w = 0; w < group; ++w) out[p * Width + first + w] = static_cast<C>(rows[w * along + p * deep]);
      }
    }
  }

  /// Adds the product of the packed blocks to the sums; the last one goes on to C.
  template <class Member>
  void multiply(const Member& member, const buffers& own, const macro_tile& at, std::int64_t depth, bool first,
                bool last) const {
    const std::int64_t row_count = divide_up(at.rows, tile::rows);
    const std::int64_t column_count = divide_up(at.columns, tile::columns);
    for (std::int64_t index = member.team_rank(); index < row_count * column_count; index += member.team_size()) {
      const std::int64_t row = index % row_count * tile::rows;
      const std::int64_t column = index / row_count * tile::columns;
      C* const sums = own.sums + index * tile::rows * tile::columns;
      const auto rows_here = static_cast<int>(std::min<std::int64_t>(tile::rows, at.rows - row));
      const auto columns_here = static_cast<int>(std::min<std::int64_t>(tile::columns, at.columns - column));
      add_products(own.a + row * depth, own.b + column * depth, depth, first, sums, rows_here, columns_here);
      if (!last) continue;
      T* const c = at.c + row * problem_.c.row_stride + column * problem_.c.column_stride;
      if (problem_.has_epilogue()) {
        write_finished(sums, c, at.row + row, rows_here, at.column + column, columns_here);
      } else {
        write_sums(sums, c, rows_here, columns_here);
      }
    }
  }

  void write_sums(const C* sums, T* c, int rows, int columns) const {
    const C alpha = C(problem_.alpha);
    const C beta = C(problem_.beta);
    const std::int64_t row_stride = problem_.c.row_stride;
    const std::int64_t column_stride = problem_.c.column_stride;
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      constexpr bool reads_c = Form != scaled_form::store && Form != scaled_form::scale;
      if (converts_runs && !reads_c && column_stride == 1) {
        return write_converted([&](C sum) { return scaled_entry<Form, T>(alpha, beta, sum, T()); }, sums, c, rows,
                               columns);
      }
      for (int i = 0; i < rows; ++i) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (int j = 0; j < columns; ++j) {
          T& entry = c[i * row_stride + j * column_stride];
          entry = static_cast<T>(scaled_entry<Form, T>(alpha, beta, sums[i * tile::columns + j], entry));
        }
      }
    });
  }

  /// Writes entry(sum) of each sum to rows of C that are neighbours, converted in vectors.
  template <class Entry>
  void write_converted([[maybe_unused]] const Entry& entry, [[maybe_unused]] const C* sums, [[maybe_unused]] T* c,
                       [[maybe_unused]] int rows, [[maybe_unused]] int columns) const {
    if constexpr (converts_runs) {
      for (int i = 0; i < rows; ++i) {
        C values[tile::columns];
        for (int j = 0; j < tile::columns; ++j) values[j] = entry(sums[i * tile::columns + j]);
        prumo::detail::narrow(values, c + i * problem_.c.row_stride, columns);
      }
    }
  }

  /// The same with bias and activation, which are computed before the sums are rounded to T.
  void write_finished(C* sums, T* c, std::int64_t first_row, int rows, std::int64_t first_column, int columns) const {
    const C alpha = C(problem_.alpha);
    const C beta = C(problem_.beta);
    const std::int64_t row_stride = problem_.c.row_stride, column_stride = problem_.c.column_stride;
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      if constexpr (Form != scaled_form::store) {
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            C& value = sums[i * tile::columns + j];
            value = scaled_entry<Form, T>(alpha, beta, value, c[i * row_stride + j * column_stride]);
          }
        }
      }
    });
    row_epilogue_host<T>(problem_).finish({sums, tile::columns, rows, columns, first_row, first_column});
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        c[i * row_stride + j * column_stride] = static_cast<T>(sums[i * tile::columns + j]);
      }
    }
  }

  static void add_products(const C* a, const C* b, std::int64_t depth, bool first, C* sums, int rows, int columns) {
    if constexpr (tile::vectorised) {
      vector held[tile::rows][tile::vectors];
      prumo::detail::for_each_register<tile::rows, tile::vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE {
        held[i][j] = first ? vector(0) : vector::load(sums + i * tile::columns + j * vector::lanes);
      });
      for (std::int64_t p = 0; p < depth; ++p, a += tile::rows, b += tile::columns) {
        prumo::detail::for_each_register<tile::rows, tile::vectors>([&](int i, int j) PRUMO_ALWAYS_INLINE {
          held[i][j] = prumo::fma(vector(a[i]), vector::load(b + j * vector::lanes), held[i][j]);
        });
      }
      prumo::detail::for_each_register<tile::rows, tile::vectors>(
          [&](int i, int j) PRUMO_ALWAYS_INLINE { held[i][j].store(sums + i * tile::columns + j * vector::lanes); });
    } else {
      C held[tile::rows][tile::columns];
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) held[i][j] = first ? C(0) : sums[i * tile::columns + j];
      }
      for (std::int64_t p = 0; p < depth; ++p, a += tile::rows, b += tile::columns) {
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) held[i][j] = prumo::fma(a[i], b[j], held[i][j]);
        }
      }
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) sums[i * tile::columns + j] = held[i][j];
      }
    }
  }

  gemm_problem<T> problem_;
  host_tiling tiling_;
  std::int64_t row_tiles_;
  std::int64_t column_tiles_;
  std::byte* workspace_;
  scaled_form form_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
