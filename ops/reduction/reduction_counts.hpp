// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The flops of reductions, of the kernels that cut long rows into segments: by running them and by a formula.

#include "reduction_reference.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/reduction.hpp>

#include <cstdint>

namespace prumo::cases {

/// The kernels that reductions of rows run, and those over several axes.
enum class counted_kernels : std::uint8_t { of_rows, of_axes };

/// Runs the kernels on the elements of one result of the case, a segment at a time in bounded memory.
flop_counts count_reduction_kernel(prumo::reduction kind, counted_kernels kernels, const specification& choice,
                                   const case_row& row);

/// The same of a result of `count` elements by a formula.
flop_counts reduction_counts(prumo::reduction kind, counted_kernels kernels, dtype type, std::int64_t count);

}  // namespace prumo::cases
