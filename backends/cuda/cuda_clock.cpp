// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/device_clock.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/owned_handle.hpp>

#include <vector>

namespace prumo::backend {
namespace {

using prumo::detail::require_success;

class event_clock final : public device_clock {
 public:
  event_clock(const Kokkos::Cuda& instance, std::size_t marks) : instance_(instance) {
    const prumo::detail::current_device scope(instance);
    for (std::size_t i = 0; i < marks; ++i) {
      events_.emplace_back();
      require_success(cudaEventCreate(events_.back().receive()), "cudaEventCreate");
    }
  }

  void mark(std::size_t which) override {
    require_success(cudaEventRecord(events_.at(which), instance_.cuda_stream()), "cudaEventRecord");
  }

  double seconds_between(std::size_t from, std::size_t to) override {
    require_success(cudaEventSynchronize(events_.at(to)), "cudaEventSynchronize");
    float milliseconds = 0;
    require_success(cudaEventElapsedTime(&milliseconds, events_.at(from), events_.at(to)), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  Kokkos::Cuda instance_;
  std::vector<prumo::detail::owned_handle<cudaEvent_t, cudaEventDestroy>> events_;
};

}  // namespace

std::unique_ptr<device_clock> make_device_clock(const Kokkos::Cuda& instance, std::size_t marks) {
  return std::make_unique<event_clock>(instance, marks);
}

}  // namespace prumo::backend
