// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/device_clock.hpp>

namespace prumo::backend {

#define PRUMO_DEFINE_DEVICE_CLOCK(Space) \
  std::unique_ptr<device_clock> make_device_clock(const Space&, std::size_t) { return nullptr; }
PRUMO_IF_SERIAL(PRUMO_DEFINE_DEVICE_CLOCK(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_DEVICE_CLOCK(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_DEVICE_CLOCK(Kokkos::Threads))
#undef PRUMO_DEFINE_DEVICE_CLOCK

}  // namespace prumo::backend
