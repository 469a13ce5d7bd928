// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_backend.hpp"
#include <prumo/backend/device_clock.hpp>

#include <vector>

namespace prumo::backend {
namespace {

class event_clock final : public device_clock {
 public:
  event_clock(const gpu_space& instance, std::size_t marks) : instance_(instance) {
    const current_device scope(instance);
    for (std::size_t i = 0; i < marks; ++i) {
      events_.emplace_back();
      PRUMO_GPU_CALL(EventCreate, events_.back().receive());
    }
  }

  void mark(std::size_t which) override { PRUMO_GPU_CALL(EventRecord, events_.at(which), stream_of(instance_)); }

  double seconds_between(std::size_t from, std::size_t to) override {
    PRUMO_GPU_CALL(EventSynchronize, events_.at(to));
    float milliseconds = 0;
    PRUMO_GPU_CALL(EventElapsedTime, &milliseconds, events_.at(from), events_.at(to));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  gpu_space instance_;
  std::vector<owned_handle<PRUMO_GPU(Event_t), PRUMO_GPU(EventDestroy)>> events_;
};

}  // namespace

std::unique_ptr<device_clock> make_device_clock(const gpu_space& instance, std::size_t marks) {
  return std::make_unique<event_clock>(instance, marks);
}

}  // namespace prumo::backend
