// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/device/announced_kernel.hpp>
#include <prumo/detail/host/meeting_threads.hpp>
#include <prumo/spaces.hpp>

#include <type_traits>

#if defined(KOKKOS_ENABLE_OPENMP)
#include <omp.h>
#endif

namespace prumo::detail {
namespace {

template <class Exec>
constexpr bool has_openmp_threads() {
#if defined(KOKKOS_ENABLE_OPENMP)
  return std::is_same_v<Exec, Kokkos::OpenMP>;
#else
  return false;
#endif
}

}  // namespace

template <class Exec>
int most_meeting_threads(const Exec& instance) {
  const int threads = concurrency_of(instance);
  return has_openmp_threads<Exec>() || threads == 1 ? threads : 0;
}

template <class Exec>
void launch_meeting_threads(const Exec& instance, const std::string& label, [[maybe_unused]] int threads,
                            const meeting_threads& kernel) {
  const announced_kernel announced(instance, label);
#if defined(KOKKOS_ENABLE_OPENMP)
  // A policy of Kokkos would not tell how many threads run at once.
  if (has_openmp_threads<Exec>() && threads > 1) {
#pragma omp parallel num_threads(threads)
    kernel.run(kernel.kernel, omp_get_thread_num(), omp_get_num_threads());
    return;
  }
#endif
  kernel.run(kernel.kernel, 0, 1);
}

void meet_threads() {
#if defined(KOKKOS_ENABLE_OPENMP)
#pragma omp barrier
#endif
}

#define PRUMO_DEFINE_MEETING_THREADS(Space)        \
  template int most_meeting_threads(const Space&); \
  template void launch_meeting_threads(const Space&, const std::string&, int, const meeting_threads&);
PRUMO_IF_SERIAL(PRUMO_DEFINE_MEETING_THREADS(Kokkos::Serial))
PRUMO_IF_OPENMP(PRUMO_DEFINE_MEETING_THREADS(Kokkos::OpenMP))
PRUMO_IF_THREADS(PRUMO_DEFINE_MEETING_THREADS(Kokkos::Threads))

}  // namespace prumo::detail
