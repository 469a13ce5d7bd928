// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas_handle.hpp"

#include <prumo/backend/cuda_context.hpp>

#include <cstdint>

namespace prumo::backend::cuda {
namespace {

/// What NVIDIA recommends (cuBLAS documentation, cublasSetWorkspace): 32 MiB for Hopper and Blackwell, 4 MiB before.
std::size_t recommended_workspace_bytes(int device) {
  int major = 0;
  require_success(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return (major >= 9 ? 32 : 4) * mebibyte;
}

}  // namespace

library_workspace::library_workspace(const Kokkos::Cuda& instance)
    : bytes(recommended_workspace_bytes(instance.cuda_device())) {
  // The libraries want 256 bytes; what Kokkos gives lies 128 behind its own header.
  constexpr std::size_t alignment = 256;
  try {
    memory_ = Kokkos::View<std::byte*, Kokkos::CudaSpace>(
        Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::gemm::library_workspace"), bytes + alignment);
  } catch (const std::exception& cause) {
    throw memory_error("prumo::gemm: a workspace of " + std::to_string(bytes) +
                       " bytes for cuBLAS cannot be had: " + cause.what());
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  data = memory_.data() + (alignment - address % alignment) % alignment;
}

cublas_handle::cublas_handle(context<Kokkos::Cuda>& owner) {
  const current_device scope(owner.instance());
  const library_workspace& workspace = workspace_of(owner);
  require_success(cublasCreate(&handle_), "cublasCreate");
  try {
    require_success(cublasSetStream(handle_, owner.instance().cuda_stream()), "cublasSetStream");
    require_success(cublasSetWorkspace(handle_, workspace.data, workspace.bytes), "cublasSetWorkspace");
    require_success(cublasSetMathMode(handle_, math), "cublasSetMathMode");
  } catch (...) {
    cublasDestroy(handle_);
    throw;
  }
}

cublas_handle::cublas_handle(context<Kokkos::Cuda>& owner, cublasHandle_t adopted)
    : handle_(adopted), is_owned_(false) {
  cudaStream_t stream = nullptr;
  require_success(cublasGetStream(adopted, &stream), "cublasGetStream");
  if (stream != owner.instance().cuda_stream()) {
    throw argument_error(
        "prumo::adopt_cublas_handle: the handle is bound to another stream than the context's instance; call "
        "cublasSetStream(handle, instance.cuda_stream()) first, and set its workspace after that");
  }
}

cublas_handle::~cublas_handle() {
  if (is_owned_ && handle_ != nullptr) cublasDestroy(handle_);
}

library_workspace& workspace_of(context<Kokkos::Cuda>& owner) {
  return owner.attachment<library_workspace>([&] { return library_workspace(owner.instance()); });
}

cublas_handle& cublas_of(context<Kokkos::Cuda>& owner) {
  return owner.attachment<cublas_handle>([&] { return cublas_handle(owner); });
}

}  // namespace prumo::backend::cuda

namespace prumo {

void adopt_cublas_handle(context<Kokkos::Cuda>& ctx, cublasContext* handle) {
  bool is_new = false;
  ctx.attachment<backend::cuda::cublas_handle>([&] {
    is_new = true;
    return backend::cuda::cublas_handle(ctx, handle);
  });
  if (!is_new) {
    throw argument_error(
        "prumo::adopt_cublas_handle: the context has a handle already; adopt one before the first matrix product");
  }
}

}  // namespace prumo
