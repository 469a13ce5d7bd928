// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a compute unit of an AMD GPU does in one clock. The architecture decides that.

#include <prumo/types.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace prumo::machine::hip {

/// Work of one compute unit in one clock.
struct rate {
  std::optional<int> value;  ///< flops (a fused multiply-add is two); absent if unknown, `source` then says why
  int plain = 0;             ///< the rate without pairs of operations in one instruction, if it is less; else zero
  std::string pairs;         ///< the name of such pairs: `packed`, `dual issue`
  std::string source;        ///< `gfx942`
};

/// `gfx90a` for `gfx90a:sramecc+:xnack-`.
std::string architecture_name(std::string_view target);

/// Flops of `type` that the vector units do in one clock. `value` is zero if they have no arithmetic of that type.
rate vector_rate(const std::string& architecture, dtype type, const std::string& product);

/// Flops that the matrix units do in one clock on dense matrices. f16 and bf16 are summed in f32, and f32 and f64 in
/// their own type. None if there are no such units.
std::optional<rate> matrix_rate(const std::string& architecture, dtype type);

/// Bits that a pin of the memory moves in one clock, by the clock that the driver reports. It is 2 if that is the clock
/// of a memory with double data rate, and 4 or 16 if the driver divides it further. None if it is not known.
std::optional<int> memory_transfers(const std::string& architecture);

/// The number of compute units, from the numbers that the runtime reports. From gfx10 on the runtime counts pairs of
/// compute units (workgroup processors) as multiprocessors, unless it is told otherwise. `physical` is
/// hipDeviceAttributePhysicalMultiProcessorCount, if the runtime has it.
std::optional<int> compute_units(const std::string& architecture, std::optional<int> multiprocessors,
                                 std::optional<int> physical);

}  // namespace prumo::machine::hip
