// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The flops of reductions, of the kernels that cut rows into segments: by running them and by a formula.

#include <prumo/case/operation_case.hpp>
#include <prumo/reduction.hpp>

namespace prumo::cases {

/// Runs the kernels on one row of the case's data, a segment at a time in bounded memory.
flop_counts count_reduction_kernel(prumo::reduction kind, const specification& choice, std::int64_t row,
                                   std::int64_t columns);

/// The same of one row by a formula.
flop_counts reduction_counts(prumo::reduction kind, dtype type, std::int64_t columns);

}  // namespace prumo::cases
