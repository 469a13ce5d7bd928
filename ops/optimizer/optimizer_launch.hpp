// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the sources of the optimizers share: checks, and the launch for every space and type.

#include "optimizer_formulas.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/elementwise.hpp>

#include <string_view>

namespace prumo::detail {

/// Throws argument_error if an array is not one number of f64.
inline void check_number(std::string_view operation, const named_array& number) {
  if (number.array.type == dtype::f64 && number.array.rank == 1 && number.array.extents[0] == 1) return;
  check::throw_argument(operation, "one number of f64, an array with the extent 1", {number});
}

/// The checks of a step. `written` are arrays that are read, too; the last one holds the weights.
inline void check_step(std::string_view operation, const instance_ref& space, check::arguments written,
                       const named_array& gradients, check::arguments numbers) {
  check::arrays(operation, space, written, {gradients});
  for (const named_array& number : numbers) {
    check::arrays(operation, space, written, {number});
    check_number(operation, number);
  }
  check::rank(operation, gradients, 1);
  for (const named_array& each : written) {
    check::same_scalar_type(operation, {gradients, each});
    check::same_extents(operation, {gradients, each}, "arrays of the same extent");
  }
}

/// What an array of one number holds, for spaces of the host, whose earlier work is done.
inline double number_in(const array_ref& array) { return *array.as<const double>(); }

}  // namespace prumo::detail
