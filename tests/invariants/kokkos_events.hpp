// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What happens inside Kokkos and on the heap while an operation runs, seen through Kokkos' tool callbacks
/// and the program's own operator new.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::tests {

/// A kernel, or a fence, and the instance that it was on.
struct kokkos_event {
  std::string label;
  std::uint32_t device_id = 0;
};

struct kokkos_events {
  std::vector<kokkos_event> kernels;
  std::vector<kokkos_event> fences;
  std::vector<std::string> allocations;
  std::vector<std::string> deallocations;
  std::vector<std::string> deep_copies;
  std::vector<std::string> regions;
  std::vector<unsigned> openmp_threads;  ///< how many each parallel region asked for; empty where it cannot be seen
};

/// Registers the callbacks. Before Kokkos::initialize(): Kokkos would fence at each callback unless a tool
/// declines that, and asks only once.
void watch_kokkos();

/// Calls `function` and returns what it did. Not for use inside itself.
template <class Function>
kokkos_events events_of(Function&& function);

/// How often operator new was called, in all threads, while `function` ran. Callbacks are off: they allocate.
template <class Function>
std::size_t heap_allocations_of(Function&& function);

namespace detail {

/// Records while it lives, so that an exception leaves no recording behind.
class recording_scope {
 public:
  explicit recording_scope(kokkos_events& target);
  ~recording_scope();
  recording_scope(const recording_scope&) = delete;
  recording_scope& operator=(const recording_scope&) = delete;
};
void begin_counting();
std::size_t end_counting();

}  // namespace detail

template <class Function>
kokkos_events events_of(Function&& function) {
  kokkos_events events;
  {
    const detail::recording_scope scope(events);
    function();
  }
  return events;
}

template <class Function>
std::size_t heap_allocations_of(Function&& function) {
  detail::begin_counting();
  function();
  return detail::end_counting();
}

}  // namespace prumo::tests
