// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What reductions of a case's data should result in.

#include <prumo/case/operation_case.hpp>
#include <prumo/reduction.hpp>

#include <cstdint>
#include <span>

namespace prumo::cases {

/// The elements of a case's x that one result is made of: runs of `run` neighbours, `step` apart from each other.
struct case_row {
  std::int64_t begin = 0;
  std::int64_t run = 0;
  std::int64_t step = 0;
  std::int64_t count = 0;  ///< of all runs together

  static case_row of_matrix(std::int64_t row, std::int64_t columns) { return {row * columns, columns, 0, columns}; }

  /// Elements first ... first + out.size() - 1.
  void read(const input_values& inputs, std::int64_t first, std::span<double> out) const;
};

/// The exact result for these elements, entry `index` of the output, and how far a result may be off. `depth` is that
/// of sums, as sum_depth() and reduce_depth() tell.
reference_entry reduction_reference(prumo::reduction kind, dtype type, const input_values& inputs, const case_row& row,
                                    std::int64_t index, std::int64_t depth);

}  // namespace prumo::cases
