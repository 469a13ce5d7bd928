// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the sources of this folder call of the GPU's runtime.

#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/gpu_runtime.hpp>
#include <prumo/detail/device/owned_handle.hpp>

namespace prumo::backend {

using prumo::detail::current_device;
using prumo::detail::gpu_space;
using prumo::detail::owned_handle;
using prumo::detail::stream_of;

}  // namespace prumo::backend
