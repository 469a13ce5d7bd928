// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu_backend.hpp"
#include <prumo/backend/recorded_calls.hpp>

namespace prumo::backend {
namespace {

class graph_calls final : public recorded_calls {
 public:
  /// The instance's device must be current.
  graph_calls(const gpu_space& instance, const std::function<void()>& enqueue) : instance_(instance) {
    const PRUMO_GPU(Stream_t) stream = stream_of(instance);
    PRUMO_GPU_CALL(StreamBeginCapture, stream, PRUMO_GPU(StreamCaptureModeThreadLocal));
    owned_handle<PRUMO_GPU(Graph_t), PRUMO_GPU(GraphDestroy)> graph;
    try {
      enqueue();
    } catch (...) {
      (void)PRUMO_GPU(StreamEndCapture)(stream, graph.receive());
      (void)PRUMO_GPU(GetLastError)();
      throw;
    }
    PRUMO_GPU_CALL(StreamEndCapture, stream, graph.receive());
    PRUMO_GPU_CALL(GraphInstantiateWithFlags, executable_.receive(), graph, 0);
    // Otherwise the first replay would upload the graph.
    PRUMO_GPU_CALL(GraphUpload, executable_, stream);
  }

  void replay() override {
    const current_device scope(instance_);
    PRUMO_GPU_CALL(GraphLaunch, executable_, stream_of(instance_));
  }

 private:
  gpu_space instance_;
  owned_handle<PRUMO_GPU(GraphExec_t), PRUMO_GPU(GraphExecDestroy)> executable_;
};

}  // namespace

std::unique_ptr<recorded_calls> record_calls(const gpu_space& instance, const std::function<void()>& enqueue) {
  const current_device scope(instance);
  return std::make_unique<graph_calls>(instance, enqueue);
}

}  // namespace prumo::backend
