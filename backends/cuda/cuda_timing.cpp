// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "current_device.hpp"
#include <prumo/backend/timing.hpp>

#include <vector>

namespace prumo::backend {
namespace cuda {
namespace {

class event_clock final : public device_clock {
 public:
  event_clock(const Kokkos::Cuda& instance, std::size_t marks) : instance_(instance), events_(marks) {
    const current_device scope(instance.cuda_device());
    for (cudaEvent_t& event : events_) require_success(cudaEventCreate(&event), "cudaEventCreate");
  }
  ~event_clock() override {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  event_clock(const event_clock&) = delete;
  event_clock& operator=(const event_clock&) = delete;

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
  std::vector<cudaEvent_t> events_;
};

class graph_calls final : public recorded_calls {
 public:
  graph_calls(const Kokkos::Cuda& instance, const std::function<void()>& enqueue) : instance_(instance) {
    const cudaStream_t stream = instance.cuda_stream();
    require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      (void)cudaGetLastError();
      throw;
    }
    require_success(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    require_success(status, "cudaGraphInstantiate");
    // Without it, the first replay would carry the graph to the device.
    require_success(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
  }
  ~graph_calls() override {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  graph_calls(const graph_calls&) = delete;
  graph_calls& operator=(const graph_calls&) = delete;

  void replay() override { require_success(cudaGraphLaunch(executable_, instance_.cuda_stream()), "cudaGraphLaunch"); }

 private:
  Kokkos::Cuda instance_;
  cudaGraphExec_t executable_ = nullptr;
};

class page_locked_memory final : public pinned_memory {
 public:
  explicit page_locked_memory(std::size_t bytes) {
    require_success(cudaMallocHost(&data_, bytes), "cudaMallocHost of " + std::to_string(bytes) + " bytes");
  }
  ~page_locked_memory() override { cudaFreeHost(data_); }
  page_locked_memory(const page_locked_memory&) = delete;
  page_locked_memory& operator=(const page_locked_memory&) = delete;

  void* data() const override { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<device_clock> make_device_clock(const Kokkos::Cuda& instance, std::size_t marks) {
  return std::make_unique<cuda::event_clock>(instance, marks);
}

std::unique_ptr<recorded_calls> record_calls(const Kokkos::Cuda& instance, const std::function<void()>& enqueue) {
  const cuda::current_device scope(instance.cuda_device());
  return std::make_unique<cuda::graph_calls>(instance, enqueue);
}

std::unique_ptr<pinned_memory> allocate_pinned(const Kokkos::Cuda& instance, std::size_t bytes) {
  const cuda::current_device scope(instance.cuda_device());
  return std::make_unique<cuda::page_locked_memory>(bytes);
}

void enqueue_copy(const Kokkos::Cuda& instance, void* to, const void* from, std::size_t bytes) {
  const cuda::current_device scope(instance.cuda_device());
  cuda::require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, instance.cuda_stream()), "cudaMemcpyAsync");
}

}  // namespace prumo::backend
