// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/gpu_runtime.hpp>
#include <prumo/detail/device/owned_handle.hpp>
#include <prumo/machine/transfers.hpp>

#include <string>

namespace prumo::machine {

using prumo::detail::current_device;
using prumo::detail::gpu_space;
using prumo::detail::require_success;
using prumo::detail::stream_of;

namespace {

// Here the runtimes' names differ by more than their first letters.
#if defined(KOKKOS_ENABLE_CUDA)
constexpr auto& free_pinned = cudaFreeHost;
#else
constexpr auto& free_pinned = hipHostFree;
#endif

class page_locked_memory final : public pinned_memory {
 public:
  explicit page_locked_memory(std::size_t bytes) {
    const std::string amount = " of " + std::to_string(bytes) + " bytes";
#if defined(KOKKOS_ENABLE_CUDA)
    require_success(cudaMallocHost(data_.receive(), bytes), "cudaMallocHost" + amount);
#else
    require_success(hipHostMalloc(data_.receive(), bytes, hipHostMallocDefault), "hipHostMalloc" + amount);
#endif
  }

  void* data() const override { return data_; }

 private:
  prumo::detail::owned_handle<void*, free_pinned> data_;
};

}  // namespace

std::unique_ptr<pinned_memory> allocate_pinned(const gpu_space& instance, std::size_t bytes) {
  const current_device scope(instance);
  return std::make_unique<page_locked_memory>(bytes);
}

void enqueue_copy(const gpu_space& instance, void* to, const void* from, std::size_t bytes) {
  const current_device scope(instance);
  PRUMO_GPU_CALL(MemcpyAsync, to, from, bytes, PRUMO_GPU(MemcpyDefault), stream_of(instance));
}

}  // namespace prumo::machine
