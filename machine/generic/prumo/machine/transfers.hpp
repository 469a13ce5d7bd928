// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies between the host and a device, and host memory for such copies.

#include <prumo/spaces.hpp>

#include <cstddef>
#include <memory>

namespace prumo::machine {

/// Host memory that a device copies from and to directly.
class pinned_memory {
 public:
  virtual ~pinned_memory() = default;
  virtual void* data() const = 0;
};

// Every backend defines these for its spaces:
//   allocate_pinned(instance, bytes): null if memory needs no pinning, as on the host; throws memory_error.
//   enqueue_copy(instance, to, from, bytes): copies between host and device in either direction, or within one of them.
//     If the host memory is not pinned, part of the copy happens before the function returns.
#define PRUMO_DECLARE_TRANSFERS(Space)                                                      \
  std::unique_ptr<pinned_memory> allocate_pinned(const Space& instance, std::size_t bytes); \
  void enqueue_copy(const Space& instance, void* to, const void* from, std::size_t bytes);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_TRANSFERS)
#undef PRUMO_DECLARE_TRANSFERS

}  // namespace prumo::machine
