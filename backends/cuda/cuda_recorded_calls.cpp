// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/recorded_calls.hpp>
#include <prumo/detail/device/current_device.hpp>
#include <prumo/detail/device/owned_handle.hpp>

namespace prumo::backend {
namespace {

using prumo::detail::owned_handle;
using prumo::detail::require_success;

class graph_calls final : public recorded_calls {
 public:
  /// The instance's device must be current.
  graph_calls(const Kokkos::Cuda& instance, const std::function<void()>& enqueue) : instance_(instance) {
    const cudaStream_t stream = instance.cuda_stream();
    require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    owned_handle<cudaGraph_t, cudaGraphDestroy> graph;
    try {
      enqueue();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, graph.receive());
      (void)cudaGetLastError();
      throw;
    }
    require_success(cudaStreamEndCapture(stream, graph.receive()), "cudaStreamEndCapture");
    require_success(cudaGraphInstantiate(executable_.receive(), graph, 0), "cudaGraphInstantiate");
    // Otherwise the first replay would upload the graph.
    require_success(cudaGraphUpload(executable_, stream), "cudaGraphUpload");
  }

  void replay() override {
    const detail::current_device scope(instance_);
    require_success(cudaGraphLaunch(executable_, instance_.cuda_stream()), "cudaGraphLaunch");
  }

 private:
  Kokkos::Cuda instance_;
  owned_handle<cudaGraphExec_t, cudaGraphExecDestroy> executable_;
};

}  // namespace

std::unique_ptr<recorded_calls> record_calls(const Kokkos::Cuda& instance, const std::function<void()>& enqueue) {
  const detail::current_device scope(instance);
  return std::make_unique<graph_calls>(instance, enqueue);
}

}  // namespace prumo::backend
