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
  event_clock(const Kokkos::HIP& instance, std::size_t marks) : instance_(instance) {
    const prumo::detail::current_device scope(instance);
    for (std::size_t i = 0; i < marks; ++i) {
      events_.emplace_back();
      require_success(hipEventCreate(events_.back().receive()), "hipEventCreate");
    }
  }

  void mark(std::size_t which) override {
    require_success(hipEventRecord(events_.at(which), instance_.hip_stream()), "hipEventRecord");
  }

  double seconds_between(std::size_t from, std::size_t to) override {
    require_success(hipEventSynchronize(events_.at(to)), "hipEventSynchronize");
    float milliseconds = 0;
    require_success(hipEventElapsedTime(&milliseconds, events_.at(from), events_.at(to)), "hipEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  Kokkos::HIP instance_;
  std::vector<prumo::detail::owned_handle<hipEvent_t, hipEventDestroy>> events_;
};

}  // namespace

std::unique_ptr<device_clock> make_device_clock(const Kokkos::HIP& instance, std::size_t marks) {
  return std::make_unique<event_clock>(instance, marks);
}

}  // namespace prumo::backend
