// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublas_handle.hpp"

#include <prumo/backend/cuda_context.hpp>

namespace prumo::backend::cuda {
namespace {

/// The size that NVIDIA recommends (cuBLAS documentation, cublasSetWorkspace): 32 MiB for Hopper and Blackwell, 4 MiB
/// for earlier GPUs.
std::size_t recommended_workspace_bytes(int device) {
  int major = 0;
  require_success(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return (major >= 9 ? 32 : 4) * mebibyte;
}

}  // namespace

cublas_handle::cublas_handle(context<Kokkos::Cuda>& owner) {
  const current_device scope(owner.instance());
  const blas_workspace& lent = workspace_of(owner);
  require_success(cublasCreate(own_.receive()), "cublasCreate");
  require_success(cublasSetStream(own_, owner.instance().cuda_stream()), "cublasSetStream");
  require_success(cublasSetWorkspace(own_, lent.data, lent.bytes), "cublasSetWorkspace");
  require_success(cublasSetMathMode(own_, math), "cublasSetMathMode");
}

cublas_handle::cublas_handle(context<Kokkos::Cuda>& owner, cublasHandle_t adopted) : adopted_(adopted) {
  cudaStream_t stream = nullptr;
  require_success(cublasGetStream(adopted, &stream), "cublasGetStream");
  if (stream != owner.instance().cuda_stream()) {
    throw argument_error(
        "prumo::adopt_cublas_handle: the handle is bound to another stream than the context's instance; call "
        "cublasSetStream(handle, instance.cuda_stream()) first, and set its workspace after that");
  }
}

blas_workspace& workspace_of(context<Kokkos::Cuda>& owner) {
  return owner.attachment<blas_workspace>([&] {
    const Kokkos::Cuda& instance = owner.instance();
    return blas_workspace(instance, recommended_workspace_bytes(instance.cuda_device()), "cuBLAS");
  });
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
