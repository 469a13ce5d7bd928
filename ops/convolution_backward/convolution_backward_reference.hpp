// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the cases of a convolution's gradients and their references share.

#include "backward_problem.hpp"
#include "filter_choice.hpp"
#include <prumo/case/operation_case.hpp>

#include <vector>

namespace prumo::cases {

/// Images, filters and results of a choice.
struct backward_choice : filter_choice {
  using filter_choice::filter_choice;
  explicit backward_choice(const specification& choice) : filter_choice(choice.shape, choice.values) {}

  std::int64_t outputs_of_weights() const { return out_channels * (taps() + (has_bias ? 1 : 0)); }

  flop_counts data_counts() const;
  flop_counts weights_counts() const;

  std::vector<std::int64_t> y_extents() const { return {images, out_channels, rows, columns}; }
  double elements() const;
};

/// Appends the entries of image and input channel number `part` of dx, for inputs dy and w.
void append_backward_data_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                    std::vector<reference_entry>& out);

/// Appends the entries of a filter plane of dw, and the bias' gradient of its output channel if it is the first, for
/// inputs x and dy. `longest_chain` roundings follow upon each other.
void append_backward_weights_reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                       std::int64_t longest_chain, std::vector<reference_entry>& out);

}  // namespace prumo::cases
