// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/machine/transfers.hpp>

#include <cstring>

namespace prumo::machine {

#define PRUMO_DEFINE_TRANSFERS(Space)                                                           \
  std::unique_ptr<pinned_memory> allocate_pinned(const Space&, std::size_t) { return nullptr; } \
  void enqueue_copy(const Space& instance, void* to, const void* from, std::size_t bytes) {     \
    instance.fence("prumo::machine::enqueue_copy");                                             \
    std::memcpy(to, from, bytes);                                                               \
  }
PRUMO_IF_SERIAL(PRUMO_DEFINE_TRANSFERS(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_TRANSFERS(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_TRANSFERS(Kokkos::Threads))
#undef PRUMO_DEFINE_TRANSFERS

}  // namespace prumo::machine
