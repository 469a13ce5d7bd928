// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_backend.hpp"
#include <prumo/backend/copy_stream.hpp>

#include <array>

namespace prumo::backend {
namespace {

class side_stream final : public copy_stream {
 public:
  explicit side_stream(const gpu_space& instance) : instance_(instance) {
    const current_device scope(instance);
    // A blocking stream would wait for callers that work on the default stream, and they for it.
    PRUMO_GPU_CALL(StreamCreateWithFlags, stream_.receive(), PRUMO_GPU(StreamNonBlocking));
    for (event* it : {&work_, &arrivals_[0], &arrivals_[1]}) {
      PRUMO_GPU_CALL(EventCreateWithFlags, it->receive(), PRUMO_GPU(EventDisableTiming));
    }
  }

  void mark_work() override { PRUMO_GPU_CALL(EventRecord, work_, stream_of(instance_)); }

  void wait_for_work() override { PRUMO_GPU_CALL(StreamWaitEvent, stream_, work_, 0); }

  void copy(std::size_t which, void* to, const void* from, std::size_t bytes) override {
    const current_device scope(instance_);
    PRUMO_GPU_CALL(MemcpyAsync, to, from, bytes, PRUMO_GPU(MemcpyHostToDevice), stream_);
    PRUMO_GPU_CALL(EventRecord, arrivals_.at(which), stream_);
  }

  void make_work_wait(std::size_t which) override {
    PRUMO_GPU_CALL(StreamWaitEvent, stream_of(instance_), arrivals_.at(which), 0);
  }

 private:
  using event = owned_handle<PRUMO_GPU(Event_t), PRUMO_GPU(EventDestroy)>;

  gpu_space instance_;
  owned_handle<PRUMO_GPU(Stream_t), PRUMO_GPU(StreamDestroy)> stream_;
  event work_;
  std::array<event, 2> arrivals_;
};

}  // namespace

std::unique_ptr<copy_stream> make_copy_stream(const gpu_space& instance) {
  return std::make_unique<side_stream>(instance);
}

}  // namespace prumo::backend
