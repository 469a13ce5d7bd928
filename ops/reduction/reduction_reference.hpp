// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What reductions of a case's data should result in.

#include <prumo/case/operation_case.hpp>
#include <prumo/reduction.hpp>

namespace prumo::cases {

/// The exact reduction of one row of a case's data, `columns` elements long, and how far a result may be off.
reference_entry reduction_reference(prumo::reduction kind, dtype type, const input_values& inputs, std::int64_t row,
                                    std::int64_t columns, bool column_major);

}  // namespace prumo::cases
