// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hip_error.hpp"
#include <prumo/backend/timing.hpp>

#include <vector>

namespace prumo::backend {
namespace hip {
namespace {

class event_clock final : public device_clock {
 public:
  event_clock(const Kokkos::HIP& instance, std::size_t marks) : instance_(instance), events_(marks) {
    const current_device scope(instance.hip_device());
    for (hipEvent_t& event : events_) require_success(hipEventCreate(&event), "hipEventCreate");
  }
  ~event_clock() override {
    for (hipEvent_t event : events_) (void)hipEventDestroy(event);
  }
  event_clock(const event_clock&) = delete;
  event_clock& operator=(const event_clock&) = delete;

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
  std::vector<hipEvent_t> events_;
};

class graph_calls final : public recorded_calls {
 public:
  graph_calls(const Kokkos::HIP& instance, const std::function<void()>& enqueue) : instance_(instance) {
    const hipStream_t stream = instance.hip_stream();
    require_success(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    hipGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      (void)hipStreamEndCapture(stream, &graph);
      if (graph != nullptr) (void)hipGraphDestroy(graph);
      (void)hipGetLastError();
      throw;
    }
    require_success(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    const hipError_t status = hipGraphInstantiate(&executable_, graph, nullptr, nullptr, 0);
    (void)hipGraphDestroy(graph);
    require_success(status, "hipGraphInstantiate");
    // Without it, the first replay would carry the graph to the device.
    const hipError_t uploaded = hipGraphUpload(executable_, stream);
    if (uploaded != hipSuccess) {
      (void)hipGraphExecDestroy(executable_);
      require_success(uploaded, "hipGraphUpload");
    }
  }
  ~graph_calls() override {
    if (executable_ != nullptr) (void)hipGraphExecDestroy(executable_);
  }
  graph_calls(const graph_calls&) = delete;
  graph_calls& operator=(const graph_calls&) = delete;

  void replay() override { require_success(hipGraphLaunch(executable_, instance_.hip_stream()), "hipGraphLaunch"); }

 private:
  Kokkos::HIP instance_;
  hipGraphExec_t executable_ = nullptr;
};

class page_locked_memory final : public pinned_memory {
 public:
  explicit page_locked_memory(std::size_t bytes) {
    require_success(hipHostMalloc(&data_, bytes, hipHostMallocDefault),
                    "hipHostMalloc of " + std::to_string(bytes) + " bytes");
  }
  ~page_locked_memory() override { (void)hipHostFree(data_); }
  page_locked_memory(const page_locked_memory&) = delete;
  page_locked_memory& operator=(const page_locked_memory&) = delete;

  void* data() const override { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace
}  // namespace hip

std::unique_ptr<device_clock> make_device_clock(const Kokkos::HIP& instance, std::size_t marks) {
  return std::make_unique<hip::event_clock>(instance, marks);
}

std::unique_ptr<recorded_calls> record_calls(const Kokkos::HIP& instance, const std::function<void()>& enqueue) {
  const hip::current_device scope(instance.hip_device());
  return std::make_unique<hip::graph_calls>(instance, enqueue);
}

std::unique_ptr<pinned_memory> allocate_pinned(const Kokkos::HIP& instance, std::size_t bytes) {
  const hip::current_device scope(instance.hip_device());
  return std::make_unique<hip::page_locked_memory>(bytes);
}

void enqueue_copy(const Kokkos::HIP& instance, void* to, const void* from, std::size_t bytes) {
  const hip::current_device scope(instance.hip_device());
  hip::require_success(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, instance.hip_stream()), "hipMemcpyAsync");
}

}  // namespace prumo::backend
