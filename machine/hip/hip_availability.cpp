// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/machine/availability.hpp>

#include <cerrno>
#include <hip/hip_runtime_api.h>
#include <string_view>
#include <unistd.h>

namespace prumo::machine {
namespace {

/// The driver's device file. The runtime has one error for a missing file and for a user who may not open it.
std::string why_none_is_found() {
  const char* const door = "/dev/kfd";
  if (access(door, R_OK | W_OK) == 0) {
    return "HIP finds no GPU here that it supports, or HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES hides it";
  }
  if (errno == EACCES) {
    return std::string("this user may not open ") + door + ": the user must be in the groups render and video";
  }
  return std::string("HIP finds no GPU here: there is no ") + door + ", which the amdgpu driver makes";
}

#if defined(KOKKOS_ARCH_AMD_GPU)
/// A program holds code for one architecture. On any other one its first kernel fails.
std::string why_code_does_not_fit(int count) {
  const std::string_view built_for = KOKKOS_ARCH_AMD_GPU;
  std::string found;
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t properties{};
    if (hipGetDeviceProperties(&properties, device) != hipSuccess) {
      (void)hipGetLastError();
      return {};
    }
    const std::string_view whole = properties.gcnArchName;  // gfx90a:sramecc+:xnack-
    const std::string_view target = whole.substr(0, whole.find(':'));
    if (target == built_for) return {};
    if (found.find(target) == std::string::npos) found += (found.empty() ? "" : ", ") + std::string(target);
  }
  return "this program's Kokkos is for " + std::string(built_for) + ", and the GPU here is " + found;
}
#endif

}  // namespace

template <>
std::string why_no_device<Kokkos::HIP>() {
  int count = 0;
  const hipError_t status = hipGetDeviceCount(&count);
  if (status != hipSuccess) (void)hipGetLastError();
  if (status == hipErrorNoDevice || (status == hipSuccess && count == 0)) return why_none_is_found();
  if (status == hipErrorInsufficientDriver) return "the amdgpu driver here is too old for this program's HIP";
  if (status != hipSuccess) return std::string("HIP cannot be used here: ") + hipGetErrorString(status);
#if defined(KOKKOS_ARCH_AMD_GPU)
  return why_code_does_not_fit(count);
#else
  return {};
#endif
}

}  // namespace prumo::machine
