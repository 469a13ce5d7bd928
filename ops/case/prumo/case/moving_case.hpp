// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Cases of operations that move data and compute nothing.

#include <prumo/case/operation_case.hpp>

namespace prumo::cases {

/// A case whose operation has no arithmetic: moves are free (<prumo/counted.hpp>).
template <class Exec>
struct moving_case : operation_case<Exec> {
  flop_counts count_kernel(const specification&) const final { return {}; }
  flop_counts count_closed_form(const specification&) const final { return {}; }
};

}  // namespace prumo::cases
