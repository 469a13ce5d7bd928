// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What hipBLASLt is not asked for: GPUs that it has no kernels for, and sizes that its kernels would cut off in
/// silence.

#include "gemm_plan.hpp"

#include <string>
#include <string_view>

namespace prumo::backend::hip {

/// A release of hipBLASLt.
struct hipblaslt_version {
  int major;
  int minor;

  auto operator<=>(const hipblaslt_version&) const = default;
};

/// Empty where that hipBLASLt is made for the architecture of `target`, such as `gfx90a:sramecc+:xnack-`. Asked for a
/// product on another one, it writes to standard error. A distribution may have left out architectures, of which this
/// does not know.
std::string why_not_hipblaslt_target(std::string_view target, hipblaslt_version version);

/// Empty if the extents and strides fit. The interface takes 64 bits, but kernels get extents and strides in 32. A
/// launch's number of threads is cut off to 32 bits, too, and the smallest tiles take a thread for each entry of C.
std::string why_not_hipblaslt_shape(const gemm_plan_shape& shape);

}  // namespace prumo::backend::hip
