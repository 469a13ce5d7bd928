// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose on a device of small matrices. A thread writes neighbouring elements of the target and reads each
/// where it lies. A small matrix stays in the device's cache, so lines that are read in parts cost little. What counts
/// is that no thread waits for another one.

#include "transpose_problem.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/index_divider.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {

/// The target is one run of memory; the source may have any strides.
template <class Word>
class transpose_direct_kernel {
  static constexpr int thread_elements = 4;
  using pack = device_pack<Word, thread_elements>;

 public:
  static bool can_take(const transpose_problem<Word>& problem) {
    const bool is_run = problem.target_column_stride == 1 && problem.target_row_stride == problem.rows;
    const std::int64_t most = most_bytes(problem.rows, problem.columns) / static_cast<std::int64_t>(sizeof(Word));
    return is_run && problem.columns <= most / problem.rows;
  }

  /// Matrices up to this size it transposes faster than the other kernels, or as fast, on an H100 and an H200;
  /// docs/performance-log.md has the times. Neighbouring threads read elements that are a row apart. So it needs either
  /// few rows, because neighbouring teams then read what lies beside, or rows of which one access brings a large part.
  static constexpr std::int64_t most_bytes(std::int64_t rows, std::int64_t columns) {
    constexpr std::int64_t kibibyte = 1024;
    constexpr bool is_narrow = sizeof(Word) == 2, is_wide = sizeof(Word) == 8;
    const std::int64_t row_bytes = columns * static_cast<std::int64_t>(sizeof(Word));
    if (row_bytes <= 12 || rows <= 63) return (is_narrow ? 4096 : 8192) * kibibyte;
    if (rows <= 96) return 12288 * kibibyte;
    if (rows <= 256) return (is_wide ? 2048 : 8192) * kibibyte;
    // With more, the kernel of narrow sources is faster.
    if (row_bytes <= 16) return (is_narrow ? 704 : is_wide ? 1536 : 1024) * kibibyte;
    if (row_bytes <= 24) return (is_narrow ? 512 : is_wide ? 1024 : 704) * kibibyte;
    if (columns <= 63) return (is_wide || row_bytes <= 28 ? 384 : 192) * kibibyte;
    if (rows <= 360 && !is_wide) return (is_narrow ? 2304 : 4096) * kibibyte;
    return (rows <= (is_narrow ? 810 : 700) ? 1280 : 704) * kibibyte;
  }

  explicit transpose_direct_kernel(const transpose_problem<Word>& problem)
      : problem_(problem),
        by_rows_(static_cast<int>(problem.rows)),
        elements_(static_cast<int>(problem.rows * problem.columns)),
        has_packs_(reinterpret_cast<std::uintptr_t>(problem.target) % sizeof(pack) == 0) {}

  std::int64_t blocks() const { return (elements_ + thread_elements - 1) / thread_elements; }

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const {
    const int first = static_cast<int>(thread) * thread_elements;
    const auto rows = static_cast<int>(problem_.rows);
    int column = by_rows_.quotient(first), row = first - column * rows;
    pack held;
    PRUMO_UNROLL
    for (int i = 0; i < thread_elements; ++i) {
      held.values[i] = Word(0);
      if (first + i < elements_) {
        held.values[i] = problem_.source[row * problem_.source_row_stride + column * problem_.source_column_stride];
      }
      if (++row == rows) {
        row = 0;
        ++column;
      }
    }
    if (has_packs_ && first + thread_elements <= elements_) {
      store_pack(problem_.target + first, held);
      return;
    }
    PRUMO_UNROLL
    for (int i = 0; i < thread_elements; ++i) {
      if (first + i < elements_) problem_.target[first + i] = held.values[i];
    }
  }

 private:
  transpose_problem<Word> problem_;
  index_divider by_rows_;
  int elements_;
  bool has_packs_;
};

}  // namespace prumo::detail
