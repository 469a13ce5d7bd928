// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What happens to the sums of a matrix product on their way to C.

#include <prumo/backend/gemm.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/math.hpp>

namespace prumo::backend {

/// The forms of alpha S + beta C that cost different operations, in this order: S; alpha S; C + S; C + alpha
/// S; beta C + S; beta C + alpha S. The first two do not read C.
enum class gemm_epilogue : std::uint8_t { store, scale, add, add_scaled, scale_add, scale_add_scaled };

constexpr gemm_epilogue choose_epilogue(double alpha, double beta) {
  if (beta == 0) return alpha == 1 ? gemm_epilogue::store : gemm_epilogue::scale;
  if (beta == 1) return alpha == 1 ? gemm_epilogue::add : gemm_epilogue::add_scaled;
  return alpha == 1 ? gemm_epilogue::scale_add : gemm_epilogue::scale_add_scaled;
}

template <class T>
constexpr gemm_epilogue choose_epilogue(const gemm_problem<T>& problem) {
  return choose_epilogue(problem.alpha, problem.beta);
}

inline namespace PRUMO_INSTRUCTION_SET {

/// One entry of C.
PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
template <gemm_epilogue Epilogue, class T, class C = compute_t<T>>
KOKKOS_FORCEINLINE_FUNCTION void write_entry(C alpha, C beta, C sum, T& entry) {
  if constexpr (Epilogue == gemm_epilogue::store) {
    entry = static_cast<T>(sum);
  } else if constexpr (Epilogue == gemm_epilogue::scale) {
    entry = static_cast<T>(alpha * sum);
  } else if constexpr (Epilogue == gemm_epilogue::add) {
    entry = static_cast<T>(static_cast<C>(entry) + sum);
  } else if constexpr (Epilogue == gemm_epilogue::add_scaled) {
    entry = static_cast<T>(prumo::fma(alpha, sum, static_cast<C>(entry)));
  } else if constexpr (Epilogue == gemm_epilogue::scale_add) {
    entry = static_cast<T>(prumo::fma(beta, static_cast<C>(entry), sum));
  } else {
    entry = static_cast<T>(prumo::fma(beta, static_cast<C>(entry), alpha * sum));
  }
}

/// One entry of C, where the epilogue is known at run time.
template <class T, class C = compute_t<T>>
KOKKOS_FORCEINLINE_FUNCTION void write_entry_by(gemm_epilogue epilogue, C alpha, C beta, C sum, T& entry) {
  using enum gemm_epilogue;
  switch (epilogue) {
    case store: return write_entry<store, T>(alpha, beta, sum, entry);
    case scale: return write_entry<scale, T>(alpha, beta, sum, entry);
    case add: return write_entry<add, T>(alpha, beta, sum, entry);
    case add_scaled: return write_entry<add_scaled, T>(alpha, beta, sum, entry);
    case scale_add: return write_entry<scale_add, T>(alpha, beta, sum, entry);
    case scale_add_scaled: return write_entry<scale_add_scaled, T>(alpha, beta, sum, entry);
  }
}

/// Calls `function` with the epilogue as a constant; host only.
template <class Function>
void with_epilogue(gemm_epilogue epilogue, const Function& function) {
  using enum gemm_epilogue;
  switch (epilogue) {
    case store: return function(std::integral_constant<gemm_epilogue, store>{});
    case scale: return function(std::integral_constant<gemm_epilogue, scale>{});
    case add: return function(std::integral_constant<gemm_epilogue, add>{});
    case add_scaled: return function(std::integral_constant<gemm_epilogue, add_scaled>{});
    case scale_add: return function(std::integral_constant<gemm_epilogue, scale_add>{});
    case scale_add_scaled: return function(std::integral_constant<gemm_epilogue, scale_add_scaled>{});
  }
}

/// Writes rows x columns sums, rows of which are Columns apart, to C on the host.
template <int Columns, class T, class C = compute_t<T>>
void write_sums(gemm_epilogue epilogue, C alpha, C beta, const C* sums, T* c, int rows, int columns,
                std::int64_t row_stride, std::int64_t column_stride) {
  with_epilogue(epilogue, [&]<gemm_epilogue Epilogue>(std::integral_constant<gemm_epilogue, Epilogue>) {
    for (int i = 0; i < rows; ++i) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (int j = 0; j < columns; ++j) {
        write_entry<Epilogue, T>(alpha, beta, sums[i * Columns + j], c[i * row_stride + j * column_stride]);
      }
    }
  });
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
