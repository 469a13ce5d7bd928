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
  graph_calls(const Kokkos::HIP& instance, const std::function<void()>& enqueue) : instance_(instance) {
    const hipStream_t stream = instance.hip_stream();
    require_success(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal), "hipStreamBeginCapture");
    owned_handle<hipGraph_t, hipGraphDestroy> graph;
    try {
      enqueue();
    } catch (...) {
      (void)hipStreamEndCapture(stream, graph.receive());
      (void)hipGetLastError();
      throw;
    }
    require_success(hipStreamEndCapture(stream, graph.receive()), "hipStreamEndCapture");
    require_success(hipGraphInstantiate(executable_.receive(), graph, nullptr, nullptr, 0), "hipGraphInstantiate");
    // Otherwise the first replay would upload the graph.
    require_success(hipGraphUpload(executable_, stream), "hipGraphUpload");
  }

  void replay() override {
    const detail::current_device scope(instance_);
    require_success(hipGraphLaunch(executable_, instance_.hip_stream()), "hipGraphLaunch");
  }

 private:
  Kokkos::HIP instance_;
  owned_handle<hipGraphExec_t, hipGraphExecDestroy> executable_;
};

}  // namespace

std::unique_ptr<recorded_calls> record_calls(const Kokkos::HIP& instance, const std::function<void()>& enqueue) {
  const detail::current_device scope(instance);
  return std::make_unique<graph_calls>(instance, enqueue);
}

}  // namespace prumo::backend
