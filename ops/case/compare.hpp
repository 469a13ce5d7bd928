// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Results held against the reference, entry by entry.

#include "fill_arrays.hpp"
#include <prumo/case/operation_case.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace prumo::cases::detail {

/// An output on the host; `data` is null for arrays that are inputs.
struct host_output {
  const void* data = nullptr;
  array_specification specification;
  dtype type = dtype::f32;  ///< the case's
  element_order order;
  std::int64_t count = 0;
};

/// How many of `parts` a budget of operations allows: all of them, or at least two.
std::int64_t parts_within(double budget, std::int64_t parts, double part_cost);

/// Returns the reference entries of a part. They may lie in `scratch`, which is empty before, or elsewhere.
using reference_function =
    std::function<std::span<const reference_entry>(std::int64_t part, std::vector<reference_entry>& scratch)>;

/// Compares `checked_parts` evenly chosen parts, and all entries for having been written at all.
check_result compare(const std::vector<host_output>& outputs, std::int64_t parts, std::int64_t checked_parts,
                     const reference_function& reference);

}  // namespace prumo::cases::detail
