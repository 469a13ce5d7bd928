// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "functions.hpp"

#include <cstdint>
#include <vector>

namespace prumo::accuracy {

/// Kinds of arguments of double: random bits, in which all exponents are alike; uniform numbers where the function is
/// neither constant nor infinite; and the neighbourhood of numbers where something changes: where a method goes over to
/// another, results become subnormal or infinite, or terms cancel.
inline constexpr int argument_kinds = 3;

/// Arguments `begin` ... `begin + count - 1` of a kind, the same under the same seed.
std::vector<double> hard_arguments(function which, int kind, std::uint64_t seed, std::uint64_t begin,
                                   std::uint64_t count);

}  // namespace prumo::accuracy
