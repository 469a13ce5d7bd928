// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Blocks of sums that a host holds in vector registers.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/host_work.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// What this number of multiply-adds takes a thread that keeps its sums in registers. Processors start one or two of
/// them in a cycle, so 0.3 ns is what most need for one, loads included.
template <class C>
constexpr host_work multiply_add_work(std::int64_t count) {
  constexpr double of_a_register = 0.3;
  return host_work::repeated(count, of_a_register / simd<C>::lanes);
}

/// Calls function(row, column) for each register of a tile, without a loop. An index that is known only at run time
/// would move all sums to memory, and compilers for devices lose pragmas that unroll loops.
template <int Rows, int Columns, class Function>
PRUMO_ALWAYS_INLINE inline void for_each_register(const Function& function) {
  [&]<std::size_t... I>(std::index_sequence<I...>) PRUMO_ALWAYS_INLINE {
    (function(static_cast<int>(I / Columns), static_cast<int>(I % Columns)), ...);
  }(std::make_index_sequence<static_cast<std::size_t>(Rows * Columns)>{});
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
