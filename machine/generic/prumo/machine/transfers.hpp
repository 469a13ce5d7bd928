// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Copies between the host and a device, and memory of the host for them.

#include <prumo/spaces.hpp>

#include <cstddef>
#include <memory>

namespace prumo::machine {

/// Memory of the host that a device copies from and to without a detour.
class pinned_memory {
 public:
  virtual ~pinned_memory() = default;
  virtual void* data() const = 0;
};

// Every backend defines these for its spaces:
//   allocate_pinned(instance, bytes): null where memory needs no pinning, as on the host; throws memory_error.
//   enqueue_copy(instance, to, from, bytes): in either direction between host and device or within one. With memory
//     of the host that is not pinned, part of it happens before the return.
#define PRUMO_DECLARE_TRANSFERS(Space)                                                      \
  std::unique_ptr<pinned_memory> allocate_pinned(const Space& instance, std::size_t bytes); \
  void enqueue_copy(const Space& instance, void* to, const void* from, std::size_t bytes);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_TRANSFERS)
#undef PRUMO_DECLARE_TRANSFERS

}  // namespace prumo::machine
