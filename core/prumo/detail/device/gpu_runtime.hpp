// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The runtime of the GPUs for which this Kokkos is built, CUDA's or HIP's. Most of their functions differ only in the
/// first letters of their names, so that one source serves both.

#include <prumo/detail/device/cuda_error.hpp>
#include <prumo/detail/device/hip_error.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
/// The runtime's own name: PRUMO_GPU(EventRecord) is cudaEventRecord or hipEventRecord.
#define PRUMO_GPU(name) cuda##name
#define PRUMO_GPU_PREFIX "cuda"
#elif defined(KOKKOS_ENABLE_HIP)
#define PRUMO_GPU(name) hip##name
#define PRUMO_GPU_PREFIX "hip"
#endif

#if defined(PRUMO_GPU)

/// Calls a function of the runtime and throws as require_success() does: PRUMO_GPU_CALL(EventRecord, event, stream).
#define PRUMO_GPU_CALL(name, ...) ::prumo::detail::require_success(PRUMO_GPU(name)(__VA_ARGS__), PRUMO_GPU_PREFIX #name)

namespace prumo::detail {

#if defined(KOKKOS_ENABLE_CUDA)
using gpu_space = Kokkos::Cuda;
inline int device_of(const gpu_space& instance) { return instance.cuda_device(); }
inline cudaStream_t stream_of(const gpu_space& instance) { return instance.cuda_stream(); }
#else
using gpu_space = Kokkos::HIP;
inline int device_of(const gpu_space& instance) { return instance.hip_device(); }
inline hipStream_t stream_of(const gpu_space& instance) { return instance.hip_stream(); }
#endif

}  // namespace prumo::detail

#endif
