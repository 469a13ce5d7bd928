// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a multiprocessor of an NVIDIA GPU does in one clock, by compute capability and, where that does not decide it,
/// by product.

#include <prumo/detail/device/compute_capability.hpp>
#include <prumo/types.hpp>

#include <optional>
#include <string>

namespace prumo::machine::cuda {

using detail::compute_capability;
using detail::has_f8;

/// Of `9.0`; none where the text is no such pair of numbers.
std::optional<compute_capability> parse_capability(const std::string& text);

/// Work of one multiprocessor in one clock.
struct rate {
  std::optional<int> value;  ///< unknown where `source` says why
  std::string source;        ///< `compute capability 9.0`
};

/// Fused multiply-adds of `type` a clock in the ordinary units. `value` is zero where the units have no arithmetic of
/// that type.
rate vector_rate(compute_capability capability, dtype type, const std::string& product);

/// Flops (a fused multiply-add is two) a clock in the tensor units on dense matrices: f16, bf16 and f8 summed in f32,
/// TF32 for `dtype::f32`, f64. None where there are no such units.
std::optional<rate> tensor_rate(compute_capability capability, dtype type, const std::string& product);

/// FP32 lanes of a multiprocessor; none where the compute capability is not in the table.
std::optional<int> f32_lanes(compute_capability capability);

}  // namespace prumo::machine::cuda
