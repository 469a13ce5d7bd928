// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A product in the form for every BLAS: lines of memory with a leading dimension, and operands that are transposed or
/// not.

#include "gemm_problem.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace prumo::backend {

/// An operand of a product with a row-major C. A column-major library sees every matrix transposed, C included. So it
/// computes C' = B' A' with the same leading dimensions and the same transposes.
struct blas_operand {
  bool transposed = false;
  std::int64_t leading_dimension = 1;
};

/// What candidates prepare if they pass a product to a library.
template <class T>
struct blas_form {
  gemm_problem<T> problem;  ///< with a row-major C: the given problem, or its transpose
  blas_operand a;
  blas_operand b;
  std::int64_t leading_dimension_of_c = 1;
  bool is_turned = false;  ///< the problem is the transpose: its A is the caller's B

  /// The integers that must fit into the library's integer type.
  std::array<std::pair<std::string_view, std::int64_t>, 6> integers() const {
    return {{{"m", problem.m},
             {"n", problem.n},
             {"k", problem.k},
             {"the leading dimension of A", a.leading_dimension},
             {"the leading dimension of B", b.leading_dimension},
             {"the leading dimension of C", leading_dimension_of_c}}};
  }
};

namespace blas {

/// The leading dimension of a matrix whose rows are lines of memory; none if its rows are no such lines.
template <class T>
std::optional<std::int64_t> leading_dimension(const gemm_matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
  if (columns > 1 && matrix.column_stride != 1) return std::nullopt;
  if (rows <= 1) return std::max<std::int64_t>(1, columns);  // the stride of a single row means nothing
  if (matrix.row_stride < std::max<std::int64_t>(1, columns)) return std::nullopt;
  return matrix.row_stride;
}

template <class T>
std::optional<blas_operand> as_blas_operand(const gemm_matrix<T>& matrix, std::int64_t rows, std::int64_t columns) {
  if (const auto straight = leading_dimension(matrix, rows, columns)) return blas_operand{false, *straight};
  if (const auto turned = leading_dimension(matrix.transposed(), columns, rows)) return blas_operand{true, *turned};
  return std::nullopt;
}

template <class T>
std::string strides_refused(std::string_view name, const gemm_matrix<T>& matrix) {
  return "the BLAS cannot express the strides of " + std::string(name) + " (" + std::to_string(matrix.row_stride) +
         ", " + std::to_string(matrix.column_stride) +
         "): one must be 1 and the other no smaller than a line of the matrix";
}

}  // namespace blas

/// Fills the form of a problem. If there is none, returns why.
template <class T>
std::string to_blas_form(const gemm_problem<T>& given, blas_form<T>& form) {
  const auto straight = blas::leading_dimension(given.c, given.m, given.n);
  const auto turned = straight ? straight : blas::leading_dimension(given.c.transposed(), given.n, given.m);
  if (!turned) return blas::strides_refused("C", given.c);
  form.is_turned = !straight;
  form.problem = form.is_turned ? given.transposed() : given;
  form.leading_dimension_of_c = *turned;
  const auto a = blas::as_blas_operand(form.problem.a, form.problem.m, form.problem.k);
  const auto b = blas::as_blas_operand(form.problem.b, form.problem.k, form.problem.n);
  if (!a || !b) {
    const bool is_a = !a.has_value() != form.is_turned;
    return is_a ? blas::strides_refused("A", given.a) : blas::strides_refused("B", given.b);
  }
  form.a = *a;
  form.b = *b;
  return {};
}

}  // namespace prumo::backend
