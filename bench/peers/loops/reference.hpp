// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "operations.hpp"

#include <cstdint>

namespace prumo::peers {

/// An entry of a result as it should be, and how far off it may be.
struct expected_entry {
  long double value = 0;
  long double bound = 0;
};

/// How many operations of the processor one entry's reference costs, roughly.
double reference_cost(const operation& what, const call& extents);

/// Entry `index` of the output, computed in long double from the generator's numbers.
template <class T>
expected_entry expected(const operation& what, const implementation& how, const call& extents, std::uint64_t seed,
                        std::int64_t index);

}  // namespace prumo::peers
