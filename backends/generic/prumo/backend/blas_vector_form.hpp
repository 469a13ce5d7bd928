// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector as every BLAS takes it: a column-major matrix that is transposed or not.

#include <prumo/backend/blas_form.hpp>
#include <prumo/backend/gemv.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace prumo::backend {

template <class T>
struct blas_vector_form {
  bool transposed = false;
  std::int64_t rows = 0;     ///< of the matrix as it is stored, column-major
  std::int64_t columns = 0;  ///< likewise
  std::int64_t leading_dimension = 1;
  std::int64_t x_increment = 1;
  std::int64_t y_increment = 1;

  /// The integers that a library's own integer type has to hold.
  std::array<std::pair<std::string_view, std::int64_t>, 5> integers() const {
    return {{{"the number of rows", rows},
             {"the number of columns", columns},
             {"the leading dimension of A", leading_dimension},
             {"the increment of x", x_increment},
             {"the increment of y", y_increment}}};
  }
};

/// The form of a problem; where there is none, `why_not` says why.
template <class T>
std::optional<blas_vector_form<T>> to_blas_vector_form(const gemv_problem<T>& problem, std::string& why_not) {
  const auto a = detail::as_blas_operand(problem.a, problem.m, problem.n);
  if (!a) {
    why_not = detail::strides_refused("A", problem.a);
    return std::nullopt;
  }
  blas_vector_form<T> form;
  // Rows that lie in memory are the columns of the transposed matrix.
  form.transposed = !a->transposed;
  form.rows = a->transposed ? problem.m : problem.n;
  form.columns = a->transposed ? problem.n : problem.m;
  form.leading_dimension = a->leading_dimension;
  // The one entry of a vector has no next: its stride says nothing.
  form.x_increment = problem.n == 1 ? 1 : problem.x_stride;
  form.y_increment = problem.m == 1 ? 1 : problem.y_stride;
  if (form.x_increment == 0) {
    why_not = "the BLAS has no vectors with a stride of 0";
    return std::nullopt;
  }
  return form;
}

}  // namespace prumo::backend
