// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which elements and weights the steps of the convolution in matrix units multiply.

#include "tensor_layout.hpp"

#include <Kokkos_Macros.hpp>

namespace prumo::backend {

/// A line of the filter. A step has four of them, and its run says where these begin.
struct tensor_line {
  int row;      ///< of the taller filter in the first step of the run
  int input;    ///< channel
  int segment;  ///< of the filter's row
  bool is_there;

  /// \param inputs channels of the input
  /// \param unit_distance from a unit of rows to the next, in rows of the input
  KOKKOS_FUNCTION static tensor_line of(const tensor_layout& layout, int inputs, int unit_distance, int run,
                                        int which) {
    const int group = run / layout.residues, residue = run - group * layout.residues;
    const int of_row = inputs * layout.segments, line = group * tensor_layout::lines_of_step + which;
    const int row = line / of_row, rest = line - row * of_row;
    // The rows of a step are neighbours if they belong to one unit. Otherwise the filter is cut into stretches, and a
    // step has a row of each.
    const bool are_neighbours = layout.step_rows <= unit_distance;
    const int of_residue = are_neighbours ? residue * layout.step_rows + row : residue;
    tensor_line found{};
    found.input = rest / layout.segments;
    found.segment = rest - found.input * layout.segments;
    found.row = are_neighbours ? of_residue : of_residue + row * layout.step_distance;
    found.is_there = row < layout.step_rows && of_residue < unit_distance;
    return found;
  }
};

}  // namespace prumo::backend
