// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The product of a matrix and a vector as every BLAS takes it: a column-major matrix that is transposed or not.

#include "blas_form.hpp"
#include "gemv_problem.hpp"

#include <array>
#include <string>
#include <utility>

namespace prumo::backend {

/// What candidates prepare that hand the product to a library.
template <class T>
struct blas_vector_form {
  bool transposed = false;
  std::int64_t rows = 0;     ///< of the matrix as it is stored, column-major
  std::int64_t columns = 0;  ///< likewise
  std::int64_t leading_dimension = 1;
  std::int64_t x_increment = 1;
  std::int64_t y_increment = 1;
  /// The same as a product of matrices, for libraries that have no product with vectors of the type.
  blas_form<T> product;

  /// The integers that a library's own integer type has to hold.
  std::array<std::pair<std::string_view, std::int64_t>, 5> integers() const {
    return {{{"the number of rows", rows},
             {"the number of columns", columns},
             {"the leading dimension of A", leading_dimension},
             {"the increment of x", x_increment},
             {"the increment of y", y_increment}}};
  }
};

/// Fills the form of a problem; where there is none, says why.
template <class T>
std::string to_blas_vector_form(const gemv_problem<T>& problem, blas_vector_form<T>& form) {
  const auto a = blas::as_blas_operand(problem.a, problem.m, problem.n);
  if (!a) return blas::strides_refused("A", problem.a);
  // Rows that lie in memory are the columns of the transposed matrix.
  form.transposed = !a->transposed;
  form.rows = a->transposed ? problem.m : problem.n;
  form.columns = a->transposed ? problem.n : problem.m;
  form.leading_dimension = a->leading_dimension;
  // The one entry of a vector has no next: its stride says nothing.
  form.x_increment = problem.n == 1 ? 1 : problem.x_stride;
  form.y_increment = problem.m == 1 ? 1 : problem.y_stride;
  if (form.x_increment == 0) return "the BLAS has no vectors with a stride of 0";
  return {};
}

}  // namespace prumo::backend
