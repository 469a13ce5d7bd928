// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/hip_context.hpp>
#include <prumo/error.hpp>

#if defined(PRUMO_HAS_ROCBLAS)

#include "rocblas_handle.hpp"

namespace prumo::backend::hip {
namespace {

/// The size that rocBLAS would allocate (release notes of rocBLAS 4.2): 128 MiB on gfx940 and later gfx9, 32 MiB on
/// others.
std::size_t default_workspace_bytes(const Kokkos::HIP& instance) {
  const std::string_view target = instance.hip_device_prop().gcnArchName;
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return (target.starts_with("gfx94") || target.starts_with("gfx95") ? 128 : 32) * mebibyte;
}

}  // namespace

rocblas_context_handle::rocblas_context_handle(context<Kokkos::HIP>& owner) {
  const current_device scope(owner.instance());
  const blas_workspace& lent = workspace_of(owner);
  require_success(rocblas_create_handle(own_.receive()), "rocblas_create_handle");
  require_success(rocblas_set_stream(own_, owner.instance().hip_stream()), "rocblas_set_stream");
  require_success(rocblas_set_workspace(own_, lent.data, lent.bytes), "rocblas_set_workspace");
  // Sums must be made in the same order every time.
  require_success(set_atomics_mode(own_, rocblas_atomics_not_allowed), "rocblas_set_atomics_mode");
}

rocblas_context_handle::rocblas_context_handle(context<Kokkos::HIP>& owner, rocblas_handle adopted)
    : adopted_(adopted) {
  hipStream_t stream = nullptr;
  require_success(rocblas_get_stream(adopted, &stream), "rocblas_get_stream");
  if (stream != owner.instance().hip_stream()) {
    throw argument_error(
        "prumo::adopt_rocblas_handle: the handle is bound to another stream than the context's instance; call "
        "rocblas_set_stream(handle, instance.hip_stream()) first");
  }
}

blas_workspace& workspace_of(context<Kokkos::HIP>& owner) {
  return owner.attachment<blas_workspace>([&] {
    const Kokkos::HIP& instance = owner.instance();
    return blas_workspace(instance, default_workspace_bytes(instance), "rocBLAS");
  });
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

#else

namespace prumo {

void adopt_rocblas_handle(context<Kokkos::HIP>&, _rocblas_handle*) {
  throw unsupported_error("prumo::adopt_rocblas_handle: this prumo was built without rocBLAS");
}

}  // namespace prumo

#endif
