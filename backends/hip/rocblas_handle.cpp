// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocblas_handle.hpp"

#include <prumo/backend/hip_context.hpp>

#include <cstdint>

namespace prumo::backend::hip {
namespace {

/// What rocBLAS itself takes (rocBLAS 4.2's release notes): 128 MiB from gfx940 on among the gfx9, 32 MiB elsewhere.
std::size_t default_workspace_bytes(const Kokkos::HIP& instance) {
  const std::string_view target = instance.hip_device_prop().gcnArchName;
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return (target.starts_with("gfx94") || target.starts_with("gfx95") ? 128 : 32) * mebibyte;
}

}  // namespace

library_workspace::library_workspace(const Kokkos::HIP& instance) : bytes(default_workspace_bytes(instance)) {
  // Kokkos gives memory that lies behind a header of its own.
  constexpr std::size_t alignment = 256;
  try {
    memory_ = Kokkos::View<std::byte*, Kokkos::HIPSpace>(
        Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::gemm::library_workspace"), bytes + alignment);
  } catch (const std::exception& cause) {
    throw memory_error("prumo::gemm: a workspace of " + std::to_string(bytes) +
                       " bytes for rocBLAS cannot be had: " + cause.what());
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  data = memory_.data() + (alignment - address % alignment) % alignment;
}

rocblas_context_handle::rocblas_context_handle(context<Kokkos::HIP>& owner) {
  const current_device scope(owner.instance());
  const library_workspace& workspace = workspace_of(owner);
  require_success(rocblas_create_handle(&handle_), "rocblas_create_handle");
  try {
    require_success(rocblas_set_stream(handle_, owner.instance().hip_stream()), "rocblas_set_stream");
    require_success(rocblas_set_workspace(handle_, workspace.data, workspace.bytes), "rocblas_set_workspace");
    // Sums in the same order every time.
    require_success(set_atomics_mode(handle_, rocblas_atomics_not_allowed), "rocblas_set_atomics_mode");
  } catch (...) {
    rocblas_destroy_handle(handle_);
    throw;
  }
}

rocblas_context_handle::rocblas_context_handle(context<Kokkos::HIP>& owner, rocblas_handle adopted)
    : handle_(adopted), is_owned_(false) {
  hipStream_t stream = nullptr;
  require_success(rocblas_get_stream(adopted, &stream), "rocblas_get_stream");
  if (stream != owner.instance().hip_stream()) {
    throw argument_error(
        "prumo::adopt_rocblas_handle: the handle is bound to another stream than the context's instance; call "
        "rocblas_set_stream(handle, instance.hip_stream()) first");
  }
}

rocblas_context_handle::~rocblas_context_handle() {
  if (is_owned_ && handle_ != nullptr) rocblas_destroy_handle(handle_);
}

library_workspace& workspace_of(context<Kokkos::HIP>& owner) {
  return owner.attachment<library_workspace>([&] { return library_workspace(owner.instance()); });
}

rocblas_context_handle& rocblas_of(context<Kokkos::HIP>& owner) {
  return owner.attachment<rocblas_context_handle>([&] { return rocblas_context_handle(owner); });
}

}  // namespace prumo::backend::hip

namespace prumo {

void adopt_rocblas_handle(context<Kokkos::HIP>& ctx, _rocblas_handle* handle) {
  bool is_new = false;
  ctx.attachment<backend::hip::rocblas_context_handle>([&] {
    is_new = true;
    return backend::hip::rocblas_context_handle(ctx, handle);
  });
  if (!is_new) {
    throw argument_error(
        "prumo::adopt_rocblas_handle: the context has a handle already; adopt one before the first matrix product");
  }
}

}  // namespace prumo
