// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of one element, whose results follow without an exponential.

#include <prumo/context_ref.hpp>

#include <string>

namespace prumo::detail {

/// y = result where x is a number that is not infinite, and NaN elsewhere. Enqueued without checks.
void enqueue_softmax_of_one(const instance_ref& space, const std::string& label, double result, const array_ref& x,
                            const array_ref& y);

}  // namespace prumo::detail
