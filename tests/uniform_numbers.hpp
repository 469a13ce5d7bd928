// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Random numbers in the host's memory, for tests of loops that get pointers.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace prumo::tests {

/// For TYPED_TEST_SUITE(): the types that hosts compute in.
using compute_types = testing::Types<float, double>;

/// Numbers from -1 to 1, the same on every platform.
template <class C>
std::vector<C> uniform_numbers(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<C> numbers(count);
  for (C& it : numbers) it = static_cast<C>(static_cast<double>(engine()) * 0x1p-31 - 1);
  return numbers;
}

}  // namespace prumo::tests
