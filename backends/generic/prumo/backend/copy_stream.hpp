// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies to a device that run beside the work of an instance.

#include <prumo/spaces.hpp>

#include <cstddef>
#include <memory>

namespace prumo::backend {

/// A second stream of an instance's device, on which data for later work arrive while the instance works. Two copies
/// may be under way, with the numbers 0 and 1. If the host's memory is pinned, no function waits. If it is not, the
/// runtime may read it before copy() returns.
class copy_stream {
 public:
  virtual ~copy_stream() = default;

  /// Marks the end of the work that the instance has been given so far.
  virtual void mark_work() = 0;
  /// The copies that follow begin when the instance has passed the mark.
  virtual void wait_for_work() = 0;

  /// Enqueues a copy from the host's memory to the device's.
  virtual void copy(std::size_t which, void* to, const void* from, std::size_t bytes) = 0;
  /// The instance's work that follows begins when the latest copy of this number is done.
  virtual void make_work_wait(std::size_t which) = 0;
};

// Every backend defines this for its spaces:
//   make_copy_stream(instance): null where the host's memory is the device's.
#define PRUMO_DECLARE_COPY_STREAM(Space) std::unique_ptr<copy_stream> make_copy_stream(const Space& instance);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_COPY_STREAM)
#undef PRUMO_DECLARE_COPY_STREAM

}  // namespace prumo::backend
