// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/timing.hpp>

#include <cstring>

namespace prumo::backend {

#define PRUMO_DEFINE_HOST_TIMING(Space)                                                                        \
  std::unique_ptr<device_clock> make_device_clock(const Space&, std::size_t) { return nullptr; }               \
  std::unique_ptr<recorded_calls> record_calls(const Space&, const std::function<void()>&) { return nullptr; } \
  std::unique_ptr<pinned_memory> allocate_pinned(const Space&, std::size_t) { return nullptr; }                \
  void enqueue_copy(const Space& instance, void* to, const void* from, std::size_t bytes) {                    \
    instance.fence("prumo::backend::enqueue_copy");                                                            \
    std::memcpy(to, from, bytes);                                                                              \
  }
PRUMO_IF_SERIAL(PRUMO_DEFINE_HOST_TIMING(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_HOST_TIMING(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_HOST_TIMING(Kokkos::Threads))
#undef PRUMO_DEFINE_HOST_TIMING

}  // namespace prumo::backend
