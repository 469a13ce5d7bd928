// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "constant_claim.hpp"

#include <prumo/detail/device/current_device.hpp>

#include <map>
#include <mutex>
#include <utility>

namespace prumo::backend::cuda {
namespace {

using prumo::detail::current_device;
using prumo::detail::require_success;
using prumo::detail::stream_ordered_memory;

/// The constant memory of a device.
struct constant_memory {
  bool is_taken = false;
  cudaEvent_t released = nullptr;  ///< marks the work of its last owner; null before the first one
};

struct constant_memories {
  std::mutex mutex;
  std::map<int, constant_memory> of_device;

  /// They outlive every context, also those that are destroyed when the process ends.
  static constant_memories& all() {
    static auto* const memories = new constant_memories;
    return *memories;
  }
};

}  // namespace

constant_claim::constant_claim(constant_claim&& other) noexcept
    : instance_(other.instance_), holds_(std::exchange(other.holds_, false)) {}

constant_claim::~constant_claim() {
  if (!holds_) return;
  constant_memories& all = constant_memories::all();
  const std::lock_guard lock(all.mutex);
  constant_memory& memory = all.of_device[instance_.cuda_device()];
  const cudaStream_t stream = instance_.cuda_stream();
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  // If the work that is under way cannot be marked, nobody may have the memory any more. The mark of a captured stream
  // would be part of the graph.
  memory.is_taken = cudaStreamIsCapturing(stream, &captured) != cudaSuccess ||
                    captured != cudaStreamCaptureStatusNone || cudaEventRecord(memory.released, stream) != cudaSuccess;
}

bool constant_claim::holds() {
  if (holds_ || stream_ordered_memory<Kokkos::Cuda>::is_captured(instance_)) return holds_;
  constant_memories& all = constant_memories::all();
  const std::lock_guard lock(all.mutex);
  constant_memory& memory = all.of_device[instance_.cuda_device()];
  if (memory.is_taken) return false;
  if (memory.released == nullptr) {
    const current_device scope(instance_);
    require_success(cudaEventCreateWithFlags(&memory.released, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  } else {
    require_success(cudaStreamWaitEvent(instance_.cuda_stream(), memory.released, 0), "cudaStreamWaitEvent");
  }
  memory.is_taken = holds_ = true;
  return true;
}

bool holds_constant_memory(context<Kokkos::Cuda>& owner) {
  return owner.attachment<constant_claim>([&] { return constant_claim(owner.instance()); }).holds();
}

}  // namespace prumo::backend::cuda
