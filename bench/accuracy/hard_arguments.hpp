// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "functions.hpp"

#include <cstdint>
#include <vector>

namespace prumo::accuracy {

/// Kinds of arguments of double: random bits, in which all exponents are equally frequent; uniform numbers where the
/// function is neither constant nor infinite; and numbers near places where something changes: the method, the range of
/// the results, or terms that cancel.
inline constexpr int argument_kinds = 3;

/// Arguments `begin` ... `begin + count - 1` of a kind. The same seed gives the same arguments.
std::vector<double> hard_arguments(function which, int kind, std::uint64_t seed, std::uint64_t begin,
                                   std::uint64_t count);

}  // namespace prumo::accuracy
