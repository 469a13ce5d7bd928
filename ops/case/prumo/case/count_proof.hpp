// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Proof of an operation's closed form of counted flops, by running its kernel.

#include <prumo/case/operation_case.hpp>
#include <prumo/error.hpp>

#include <string>

namespace prumo::cases {

/// A closed form that is wrong, or cannot be proven. The message begins with `counted flops:` and has both counts.
class count_error : public error {
 public:
  using error::error;
};

/// What the kernel counts at the choice's shape. Throws count_error where the closed form says something else.
template <class Exec>
flop_counts proven_count(const operation_case<Exec>& operation, const specification& choice);

/// Compares kernel and closed form at the operation's small test shapes (<prumo/case/test_choices.hpp>), with the type
/// and the parameters of the choice, some milliseconds long. Where these parameters fit fewer than three such shapes,
/// also with those of the tests. Throws count_error where the two differ, and where there are fewer than three shapes
/// all the same. Operations without a count pass.
template <class Exec>
void prove_closed_form(const operation_case<Exec>& operation, const specification& choice);

}  // namespace prumo::cases
