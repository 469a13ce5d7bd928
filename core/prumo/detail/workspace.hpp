// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Memory of a device for temporaries. If the device can do that, it grows in the order of an instance's own work.

#include <prumo/detail/device/current_device.hpp>
#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace prumo::detail {

inline constexpr const char* workspace_label = "prumo::workspace";

/// The calls of a runtime that allocate and free memory in the order of a stream. They do not wait for the work of
/// other streams, while cudaMalloc() and cudaFree() wait for the whole device. Spaces without such a runtime have no
/// such calls.
template <class Exec>
struct stream_ordered_memory {
  static constexpr bool exists = false;
};

#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct stream_ordered_memory<Kokkos::Cuda> {
  static constexpr bool exists = true;
  static bool is_supported(const Kokkos::Cuda& instance) {
    int supported = 0;
    require_success(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, instance.cuda_device()),
                    "cudaDeviceGetAttribute");
    return supported != 0;
  }
  static bool is_captured(const Kokkos::Cuda& instance) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    require_success(cudaStreamIsCapturing(instance.cuda_stream(), &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }
  static void* allocate(const Kokkos::Cuda& instance, std::size_t bytes) {
    const current_device<Kokkos::Cuda> device(instance);
    void* memory = nullptr;
    require_success(cudaMallocAsync(&memory, bytes, instance.cuda_stream()), "cudaMallocAsync");
    return memory;
  }
  static void free(const Kokkos::Cuda& instance, void* memory) { (void)cudaFreeAsync(memory, instance.cuda_stream()); }
};
#endif

#if defined(KOKKOS_ENABLE_HIP)
template <>
struct stream_ordered_memory<Kokkos::HIP> {
  static constexpr bool exists = true;
  static bool is_supported(const Kokkos::HIP& instance) {
    int supported = 0;
    require_success(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, instance.hip_device()),
                    "hipDeviceGetAttribute");
    return supported != 0;
  }
  static bool is_captured(const Kokkos::HIP& instance) {
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    require_success(hipStreamIsCapturing(instance.hip_stream(), &status), "hipStreamIsCapturing");
    return status != hipStreamCaptureStatusNone;
  }
  static void* allocate(const Kokkos::HIP& instance, std::size_t bytes) {
    const current_device<Kokkos::HIP> device(instance);
    void* memory = nullptr;
    require_success(hipMallocAsync(&memory, bytes, instance.hip_stream()), "hipMallocAsync");
    return memory;
  }
  static void free(const Kokkos::HIP& instance, void* memory) { (void)hipFreeAsync(memory, instance.hip_stream()); }
};
#endif

/// The memory of one instance and context. There is none at first, and later as much as the largest request.
template <class Exec>
class growing_workspace {
  using memory_space = typename Exec::memory_space;

 public:
  /// The bytes that are allocated.
  std::size_t bytes() const { return memory_ == nullptr ? 0 : bytes_; }

  /// At least `bytes` bytes, for later work of the instance. If there are fewer, they are freed, and new ones are
  /// allocated. The contents are lost.
  ///
  /// If the device has no memory pools, freeing waits for all work of the device, as Kokkos' deallocation does.
  ///
  /// Throws memory_error, with the size, if the memory cannot be allocated, or if it would have to grow while the
  /// instance is captured in a graph, because the graph would own the new memory.
  void* at_least(const Exec& instance, std::size_t bytes) {
    if (bytes > this->bytes()) grow(instance, bytes);
    return memory_.get();
  }

 private:
  void grow(const Exec& instance, std::size_t bytes) {
    try {
      using ordered = stream_ordered_memory<Exec>;
      if constexpr (ordered::exists) {
        if (ordered::is_captured(instance)) {
          throw memory_error("the instance is captured in a graph; call the operation once before it is captured");
        }
        memory_ = nullptr;
        memory_ = ordered::is_supported(instance) ? in_stream_order(instance, bytes) : by_kokkos(instance, bytes);
      } else {
        memory_ = nullptr;
        memory_ = by_kokkos(instance, bytes);
      }
      bytes_ = bytes;
    } catch (const std::exception& cause) {
      throw memory_error("prumo::context: a workspace of " + std::to_string(bytes) + " bytes in " +
                         memory_space::name() + " cannot be had: " + cause.what());
    }
  }

  static std::shared_ptr<void> by_kokkos(const Exec& instance, std::size_t bytes) {
    const Kokkos::View<std::byte*, memory_space> view(
        Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, std::string(workspace_label)), bytes);
    return {view.data(), [view](void*) {}};
  }

  /// Reports the memory to Kokkos' tools, like that of a View.
  static std::shared_ptr<void> in_stream_order(const Exec& instance, std::size_t bytes) {
    using ordered = stream_ordered_memory<Exec>;
    const auto space = Kokkos::Tools::make_space_handle(memory_space::name());
    void* const memory = ordered::allocate(instance, bytes);
    if (Kokkos::Tools::profileLibraryLoaded()) Kokkos::Tools::allocateData(space, workspace_label, memory, bytes);
    return {memory, [instance, space, bytes](void* freed) {
              if (Kokkos::Tools::profileLibraryLoaded()) {
                Kokkos::Tools::deallocateData(space, workspace_label, freed, bytes);
              }
              ordered::free(instance, freed);
            }};
  }

  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace prumo::detail
