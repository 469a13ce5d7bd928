// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Time as a device itself tells it, calls recorded to be replayed as one launch, and copies between host and device.
/// What a space does not have is a null pointer: the host's spaces have none of it.

#include <prumo/spaces.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace prumo::backend {

/// Marks in the order of an instance's own work. The time between two of them is the device's, without what the host
/// does meanwhile.
class device_clock {
 public:
  virtual ~device_clock() = default;

  /// Enqueues mark number `which`, below the number of marks that the clock was made with.
  virtual void mark(std::size_t which) = 0;

  /// Seconds from one mark to a later one; waits until the device has passed both. Throws backend_error where work
  /// between them failed.
  virtual double seconds_between(std::size_t from, std::size_t to) = 0;
};

/// Calls that were recorded once.
class recorded_calls {
 public:
  virtual ~recorded_calls() = default;

  /// Enqueues all of them as one launch.
  virtual void replay() = 0;
};

/// Memory of the host that a device copies from and to without a detour.
class pinned_memory {
 public:
  virtual ~pinned_memory() = default;
  virtual void* data() const = 0;
};

// Every backend defines these for its spaces:
//   make_device_clock(instance, marks): null where the host's clock is all there is.
//   record_calls(instance, enqueue): calls `enqueue`, which must use this instance only and allocate nothing, and
//     records instead of running. Null where the space cannot; throws backend_error where something in `enqueue`
//     cannot be recorded.
//   allocate_pinned(instance, bytes): null where memory needs no pinning; throws memory_error.
//   enqueue_copy(instance, to, from, bytes): in either direction between host and device or within one. With memory
//     of the host that is not pinned, part of it happens before the return.
#define PRUMO_DECLARE_TIMING(Space)                                                                          \
  std::unique_ptr<device_clock> make_device_clock(const Space& instance, std::size_t marks);                 \
  std::unique_ptr<recorded_calls> record_calls(const Space& instance, const std::function<void()>& enqueue); \
  std::unique_ptr<pinned_memory> allocate_pinned(const Space& instance, std::size_t bytes);                  \
  void enqueue_copy(const Space& instance, void* to, const void* from, std::size_t bytes);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_TIMING)
#undef PRUMO_DECLARE_TIMING

}  // namespace prumo::backend
