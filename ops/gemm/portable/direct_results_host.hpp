// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the sums of the direct product of direct_gemm_host.hpp become rows of C: scaled, with a bias and an activation,
/// rounded, or past the caches.

#include "direct_blocks.hpp"
#include "direct_panels_host.hpp"
#include "gemm_entries.hpp"
#include "gemm_problem.hpp"
#include "row_epilogue_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block of C: where it begins, and its extents.
struct direct_area {
  std::int64_t batch, row, column, rows, columns;
};

template <class T>
class direct_results {
  using C = compute_t<T>;
  static constexpr bool widens = widens_for_direct<T>;

 public:
  explicit direct_results(const gemm_problem<T>& problem)
      : c_(problem.c),
        columns_(problem.n),
        alpha_(problem.alpha),
        beta_(problem.beta),
        epilogue_(problem),
        form_(choose_form(problem.alpha, problem.beta)),
        stores_sums_(problem.c.column_stride == 1 && form_ == scaled_form::store),
        has_epilogue_(problem.has_epilogue()) {}

  /// Rows of C are sums as they are in registers, or these rounded, but for bias and activation.
  bool stores_sums() const { return stores_sums_; }
  bool stores_plain_sums() const { return stores_sums_ && !has_epilogue_; }
  /// Elements of memory that the epilogue of a block's tiles needs.
  static constexpr std::int64_t epilogue_elements = direct_sizes<C>::epilogue_columns + direct_sizes<C>::panel;

  /// The epilogue as far as tiles do it while sums are in registers: a bias of the columns and relu. Otherwise nothing.
  tile_epilogue<C> epilogue_of_tiles(const direct_area& at, C* memory) const {
    const bool is_done_by_tiles = has_epilogue_ && stores_sums_ && epilogue_.is_of_columns_and_bound();
    if (!is_done_by_tiles || at.columns > direct_sizes<C>::epilogue_columns) return {};
    epilogue_.copy_bias_of_columns(at.column, at.columns, memory);
    std::fill_n(memory + at.columns, direct_sizes<C>::panel, C(0));
    return {memory, epilogue_.bound()};
  }
  /// Whether tiles leave the epilogue to what follows.
  bool has_epilogue_after(const tile_epilogue<C>& of_tiles) const { return has_epilogue_ && of_tiles.bias == nullptr; }

  bool reads_c() const { return form_ != scaled_form::store && form_ != scaled_form::scale; }

  /// Where a row of a block of C begins.
  T* row_of(const direct_area& at, std::int64_t row) const {
    return c_.data + at.batch * c_.batch_stride + (at.row + row) * c_.row_stride + at.column * c_.column_stride;
  }

  /// How many rows of C the nearest cache holds until bias and activation have followed.
  static std::int64_t rows_to_finish(const direct_area& at) {
    constexpr std::int64_t near_elements = 16384 / static_cast<std::int64_t>(sizeof(C));
    return std::max<std::int64_t>(1, near_elements / at.columns);
  }

  /// Bias and activation of rows of a block of C, which holds their sums.
  void finish_in_place(const direct_area& at, std::int64_t row, std::int64_t rows) const {
    if constexpr (!widens) {
      epilogue_.finish({row_of(at, row), c_.row_stride, rows, at.columns, at.row + row, at.column});
    }
  }

  /// Makes rows of a block of C of their sums, which have no gaps.
  void write_rows(C* sums, const direct_area& at, std::int64_t row, std::int64_t rows) const {
    if (!stores_sums_) {
      for (std::int64_t i = 0; i < rows; ++i) write_row(sums + i * at.columns, at, row + i, false);
      return;
    }
    if (has_epilogue_) epilogue_.finish({sums, at.columns, rows, at.columns, at.row + row, at.column});
    for_each_run(rows, at.columns, c_.row_stride, [&](std::int64_t i, std::int64_t count) {
      write_run(sums + i * at.columns, row_of(at, row + i), count);
    });
  }

  /// Makes a row of a block of C of its sums.
  /// \param streams whether it goes past the caches
  void write_row(C* sums, const direct_area& at, std::int64_t row, bool streams) const {
    const std::int64_t count = at.columns, stride = c_.column_stride;
    T* const to = row_of(at, row);
    with_form(form_, [&]<scaled_form Form>(std::integral_constant<scaled_form, Form>) {
      if constexpr (Form != scaled_form::store) {
        PRUMO_INDEPENDENT_ITERATIONS
        for (std::int64_t j = 0; j < count; ++j) {
          sums[j] = scaled_entry<Form, T>(alpha_, beta_, sums[j], to[j * stride]);
        }
      }
    });
    if (has_epilogue_) epilogue_.finish({sums, count, 1, count, at.row + row, at.column});
    if (streams) return stream_row(sums, at, to);
    if (stride == 1) return write_run(sums, to, count);
    for (std::int64_t j = 0; j < count; ++j) to[j * stride] = static_cast<T>(sums[j]);
  }

 private:
  /// Numbers of C, one behind the other. NaNs of sums are those of halves, if nothing follows the sums.
  void write_run(const C* values, T* to, std::int64_t count) const {
    if constexpr (!widens) {
      std::copy_n(values, count, to);
    } else if (stores_plain_sums()) {
      prumo::detail::narrow<prumo::detail::nans::of_halves>(values, to, count);
    } else {
      prumo::detail::narrow(values, to, count);
    }
  }

  /// Writes a row of a block of C past the caches. A line that two blocks share is written by the second one.
  void stream_row([[maybe_unused]] const C* values, [[maybe_unused]] const direct_area& at,
                  [[maybe_unused]] T* to) const {
    if constexpr (!widens) {
      constexpr std::int64_t line = direct_blocks::line_elements<T>;
      const auto behind = [](const T* element) {
        return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(element) % 64 / sizeof(T));
      };
      const std::int64_t begin = at.column == 0 ? 0 : line - behind(to);
      const std::int64_t end = at.columns - (at.column + at.columns == columns_ ? 0 : behind(to + at.columns));
      prumo::detail::stream_run(to + begin, values + begin, end - begin);
    }
  }

  gemm_matrix<T> c_;
  std::int64_t columns_;
  C alpha_, beta_;
  row_epilogue_host<T> epilogue_;
  scaled_form form_;
  bool stores_sums_;
  bool has_epilogue_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
