// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/copy_stream.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/owned_handle.hpp>

#include <array>

namespace prumo::backend {
namespace {

using prumo::detail::owned_handle;
using prumo::detail::require_success;

class side_stream final : public copy_stream {
 public:
  explicit side_stream(const Kokkos::Cuda& instance) : instance_(instance) {
    const prumo::detail::current_device scope(instance);
    // A blocking stream would wait for callers that work on the default stream, and they for it.
    require_success(cudaStreamCreateWithFlags(stream_.receive(), cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    for (event* it : {&work_, &arrivals_[0], &arrivals_[1]}) {
      require_success(cudaEventCreateWithFlags(it->receive(), cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
  }

  void mark_work() override { require_success(cudaEventRecord(work_, instance_.cuda_stream()), "cudaEventRecord"); }

  void wait_for_work() override { require_success(cudaStreamWaitEvent(stream_, work_, 0), "cudaStreamWaitEvent"); }

  void copy(std::size_t which, void* to, const void* from, std::size_t bytes) override {
    const prumo::detail::current_device scope(instance_);
    require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    require_success(cudaEventRecord(arrivals_.at(which), stream_), "cudaEventRecord");
  }

  void make_work_wait(std::size_t which) override {
    require_success(cudaStreamWaitEvent(instance_.cuda_stream(), arrivals_.at(which), 0), "cudaStreamWaitEvent");
  }

 private:
  using event = owned_handle<cudaEvent_t, cudaEventDestroy>;

  Kokkos::Cuda instance_;
  owned_handle<cudaStream_t, cudaStreamDestroy> stream_;
  event work_;
  std::array<event, 2> arrivals_;
};

}  // namespace

std::unique_ptr<copy_stream> make_copy_stream(const Kokkos::Cuda& instance) {
  return std::make_unique<side_stream>(instance);
}

}  // namespace prumo::backend
