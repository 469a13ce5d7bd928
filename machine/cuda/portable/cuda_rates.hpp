// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a multiprocessor of an NVIDIA GPU does in one clock. The compute capability decides that, and for some of them
/// also the product.

#include <prumo/detail/device/compute_capability.hpp>
#include <prumo/types.hpp>

#include <optional>
#include <string>

namespace prumo::machine::cuda {

using detail::compute_capability;
using detail::has_f8;

/// The capability of a text like `9.0`; none if the text is not of this form.
std::optional<compute_capability> parse_capability(const std::string& text);

/// Work of one multiprocessor in one clock.
struct rate {
  std::optional<int> value;  ///< absent if unknown; `source` then says why
  std::string source;        ///< `compute capability 9.0`
};

/// Fused multiply-adds of `type` that the ordinary units do in one clock. `value` is zero if the units have no
/// arithmetic of that type.
rate vector_rate(compute_capability capability, dtype type, const std::string& product);

/// Flops (a fused multiply-add is two) that the tensor units do in one clock on dense matrices. f16, bf16 and f8 are
/// summed in f32; `dtype::f32` means TF32. None if there are no such units.
std::optional<rate> tensor_rate(compute_capability capability, dtype type, const std::string& product);

/// FP32 lanes of a multiprocessor; none if the compute capability is not in the table.
std::optional<int> f32_lanes(compute_capability capability);

}  // namespace prumo::machine::cuda
