// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/recorded_calls.hpp>

namespace prumo::backend {

#define PRUMO_DEFINE_RECORDED_CALLS(Space) \
  std::unique_ptr<recorded_calls> record_calls(const Space&, const std::function<void()>&) { return nullptr; }
PRUMO_IF_SERIAL(PRUMO_DEFINE_RECORDED_CALLS(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_RECORDED_CALLS(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_RECORDED_CALLS(Kokkos::Threads))
#undef PRUMO_DEFINE_RECORDED_CALLS

}  // namespace prumo::backend
