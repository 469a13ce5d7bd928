// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/device/current_device.hpp>
#include <prumo/machine/transfers.hpp>

namespace prumo::machine {
namespace {

using prumo::detail::require_success;

class page_locked_memory final : public pinned_memory {
 public:
  explicit page_locked_memory(std::size_t bytes) {
    require_success(cudaMallocHost(&data_, bytes), "cudaMallocHost of " + std::to_string(bytes) + " bytes");
  }
  ~page_locked_memory() override { (void)cudaFreeHost(data_); }
  page_locked_memory(const page_locked_memory&) = delete;
  page_locked_memory& operator=(const page_locked_memory&) = delete;

  void* data() const override { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace

std::unique_ptr<pinned_memory> allocate_pinned(const Kokkos::Cuda& instance, std::size_t bytes) {
  const detail::current_device scope(instance);
  return std::make_unique<page_locked_memory>(bytes);
}

void enqueue_copy(const Kokkos::Cuda& instance, void* to, const void* from, std::size_t bytes) {
  const detail::current_device scope(instance);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, instance.cuda_stream()), "cudaMemcpyAsync");
}

}  // namespace prumo::machine
