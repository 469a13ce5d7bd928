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
  explicit side_stream(const Kokkos::HIP& instance) : instance_(instance) {
    const prumo::detail::current_device scope(instance);
    // A blocking stream would wait for callers that work on the default stream, and they for it.
    require_success(hipStreamCreateWithFlags(stream_.receive(), hipStreamNonBlocking), "hipStreamCreateWithFlags");
    for (event* it : {&work_, &arrivals_[0], &arrivals_[1]}) {
      require_success(hipEventCreateWithFlags(it->receive(), hipEventDisableTiming), "hipEventCreateWithFlags");
    }
  }

  void mark_work() override { require_success(hipEventRecord(work_, instance_.hip_stream()), "hipEventRecord"); }

  void wait_for_work() override { require_success(hipStreamWaitEvent(stream_, work_, 0), "hipStreamWaitEvent"); }

  void copy(std::size_t which, void* to, const void* from, std::size_t bytes) override {
    const prumo::detail::current_device scope(instance_);
    require_success(hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream_), "hipMemcpyAsync");
    require_success(hipEventRecord(arrivals_.at(which), stream_), "hipEventRecord");
  }

  void make_work_wait(std::size_t which) override {
    require_success(hipStreamWaitEvent(instance_.hip_stream(), arrivals_.at(which), 0), "hipStreamWaitEvent");
  }

 private:
  using event = owned_handle<hipEvent_t, hipEventDestroy>;

  Kokkos::HIP instance_;
  owned_handle<hipStream_t, hipStreamDestroy> stream_;
  event work_;
  std::array<event, 2> arrivals_;
};

}  // namespace

std::unique_ptr<copy_stream> make_copy_stream(const Kokkos::HIP& instance) {
  return std::make_unique<side_stream>(instance);
}

}  // namespace prumo::backend
