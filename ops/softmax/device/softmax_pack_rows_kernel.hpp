// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of softmax on a device for rows so short that a pack of 16 bytes has whole ones.

#include "softmax_device_share.hpp"

#include <cstdint>

namespace prumo::detail {

/// Rows of Columns elements that lie one behind the other, from a pack on. A thread takes some packs, and no thread
/// waits for another one.
template <class T, class Formula, int Columns, int Packs>
class softmax_pack_rows_kernel {
  using C = compute_t<T>;
  using pack = device_pack<T>;
  static constexpr int pack_elements = device_pack_elements<T>;
  static_assert(pack_elements % Columns == 0);

 public:
  static constexpr bool checks_index = true;
  static constexpr int block_threads = 256;

  explicit softmax_pack_rows_kernel(const softmax_problem<T>& problem)
      : source_(problem.source), target_(problem.target), elements_(problem.rows * Columns) {}

  std::int64_t blocks() const {
    constexpr std::int64_t together = std::int64_t{block_threads} * Packs * pack_elements;
    return (elements_ + together - 1) / together * block_threads;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const {
    const std::int64_t lane = thread % block_threads;
    const std::int64_t first = ((thread - lane) * Packs + lane) * pack_elements;
    const T* const source = source_ + first;
    T* const target = target_ + first;
    const std::int64_t left = elements_ - first;
    constexpr int step = block_threads * pack_elements;
    pack held[Packs];
    PRUMO_UNROLL
    for (int i = 0; i < Packs; ++i) {
      if (i * step + pack_elements <= left) held[i] = *reinterpret_cast<const pack*>(source + i * step);
    }
    PRUMO_UNROLL
    for (int i = 0; i < Packs; ++i) {
      if (i * step + pack_elements <= left) {
        finish(held[i]);
        store_pack(target + i * step, held[i]);
      } else if (i * step < left) {
        // The rows behind the last whole pack.
        for (int j = 0; j < pack_elements; ++j) held[i].values[j] = i * step + j < left ? source[i * step + j] : T(0);
        finish(held[i]);
        for (int j = 0; j < pack_elements; ++j) {
          if (i * step + j < left) target[i * step + j] = held[i].values[j];
        }
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static void finish(pack& rows) {
    PRUMO_UNROLL
    for (int row = 0; row < pack_elements; row += Columns) {
      C values[Columns];
      PRUMO_UNROLL
      for (int i = 0; i < Columns; ++i) values[i] = load(rows.values[row + i]);
      C largest = values[0];
      PRUMO_UNROLL
      for (int i = 1; i < Columns; ++i) largest = Kokkos::fmax(largest, values[i]);
      const C shift = softmax_shift(largest);
      C total(0);
      PRUMO_UNROLL
      for (int i = 0; i < Columns; ++i) {
        const C exponential = softmax_exponential<T, Formula::keeps_exponentials>(values[i], shift);
        if constexpr (Formula::keeps_exponentials) values[i] = exponential;
        total = total + exponential;
      }
      const C factor = softmax_row_factor<T, Formula>(total);
      PRUMO_UNROLL
      for (int i = 0; i < Columns; ++i) {
        rows.values[row + i] = static_cast<T>(Formula::from_kept(values[i], shift, factor));
      }
    }
  }

  const T* source_;
  T* target_;
  std::int64_t elements_;
};

}  // namespace prumo::detail
