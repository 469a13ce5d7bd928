// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The shapes and parameter values that an operation is tried with: by the case test, and where its count is proven.

#include <prumo/case/specification.hpp>

#include <vector>

namespace prumo::cases {

/// A choice of the first implementation and mode, with default values and without a shape.
specification default_choice(const case_info& info, dtype type, array_layout layout = array_layout::right);

/// `info.test_shapes`. Where it is empty, a walk through the extents of the axes that meets each extent on each axis
/// beside different ones of the others. An axis without `test_extents` takes every kind of edge: nothing, one, around
/// the lanes of a vector, around blocks; and, the others being short, around segments and chunks.
std::vector<shape> test_shapes(const case_info& info);

/// The defaults, and these with one parameter changed to each of its `test_values`; to 0, 1 and -0.75 where it has
/// none.
std::vector<parameters> test_parameters(const case_info& info, dtype type, array_layout layout);

}  // namespace prumo::cases
