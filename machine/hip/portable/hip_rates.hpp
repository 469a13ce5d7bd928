// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a compute unit of an AMD GPU does in one clock, by architecture.

#include <prumo/types.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace prumo::machine::hip {

/// Work of one compute unit in one clock.
struct rate {
  std::optional<int> value;  ///< flops, a fused multiply-add is two; unknown where `source` says why
  int plain = 0;             ///< without pairs of operations in one instruction, where that is less; else zero
  std::string pairs;         ///< the name of such pairs: `packed`, `dual issue`
  std::string source;        ///< `gfx942`
};

/// `gfx90a` of `gfx90a:sramecc+:xnack-`.
std::string architecture_name(std::string_view target);

/// Flops of `type` a clock in the vector units. `value` is zero where they have no arithmetic of that type.
rate vector_rate(const std::string& architecture, dtype type, const std::string& product);

/// Flops a clock in the matrix units on dense matrices: f16 and bf16 summed in f32, f32 and f64 in themselves. None
/// where there are no such units.
std::optional<rate> matrix_rate(const std::string& architecture, dtype type);

/// Bits that a pin of the memory moves in a clock as the driver tells it: 2 where its clock is that of a double data
/// rate memory, 4 and 16 where it is divided further. None where that is not known.
std::optional<int> memory_transfers(const std::string& architecture);

/// Compute units that the runtime's numbers stand for. It counts pairs of them (workgroup processors) as
/// multiprocessors from gfx10 on, unless told otherwise; `physical` is hipDeviceAttributePhysicalMultiProcessorCount,
/// where there is one.
std::optional<int> compute_units(const std::string& architecture, std::optional<int> multiprocessors,
                                 std::optional<int> physical);

}  // namespace prumo::machine::hip
