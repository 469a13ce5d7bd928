// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/machine/availability.hpp>

#include <cuda_runtime_api.h>

namespace prumo::machine {
namespace {

/// `12.4` for 12040.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string why_driver_is_refused() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no NVIDIA driver is loaded here";
  return "the NVIDIA driver here is for CUDA up to " + cuda_version(driver) + ", and this program needs " +
         cuda_version(CUDART_VERSION);
}

}  // namespace

template <>
std::string why_no_device<Kokkos::Cuda>() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) (void)cudaGetLastError();
  if (status == cudaErrorInsufficientDriver) return why_driver_is_refused();
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    return "CUDA finds no GPU here, or CUDA_VISIBLE_DEVICES hides it";
  }
  if (status != cudaSuccess) return std::string("CUDA cannot be used here: ") + cudaGetErrorString(status);

  int prohibited = 0;
  int exclusive = 0;
  for (int device = 0; device < count; ++device) {
    int mode = cudaComputeModeDefault;
    if (cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, device) != cudaSuccess) (void)cudaGetLastError();
    if (mode == cudaComputeModeProhibited) ++prohibited;
    if (mode == cudaComputeModeExclusiveProcess) ++exclusive;
  }
  if (prohibited == count) return "the GPU's compute mode is 'prohibited' (nvidia-smi --compute-mode)";
  // Only exclusive devices are asked, because the question makes a context, perhaps on a device that Kokkos does not
  // choose.
  if (exclusive == count && cudaFree(nullptr) != cudaSuccess) {
    (void)cudaGetLastError();
    return "the GPU is in exclusive mode, and another process uses it";
  }
  return {};
}

}  // namespace prumo::machine
