// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/host/host_work.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>

#if defined(KOKKOS_ENABLE_OPENMP)
#include <omp.h>
#endif

namespace prumo::detail {
namespace {

/// The time of a launch if it cannot be measured. Two threads of a Zen 4 take .77 us, and those of a Zen 3 1.2 to 1.4.
double usual_launch_nanoseconds(int threads) {
  constexpr double of_a_launch = 600, of_a_thread = 230;
  return of_a_launch + of_a_thread * threads;
}

#if defined(KOKKOS_ENABLE_OPENMP)
/// The least time that an empty parallel region has taken on each number of threads. Other programs only make a region
/// take longer, so the least of a few is what it takes by itself.
class region_times {
 public:
  /// In nanoseconds. The first calls and a few of the later ones measure a region.
  double least(int threads) {
    known& it = known_[std::min(static_cast<std::size_t>(threads), known_.size() - 1)];
    const unsigned call = it.calls.fetch_add(1, std::memory_order_relaxed);
    constexpr unsigned first_calls = 16, between_later_ones = 1024;
    if (call < first_calls || call % between_later_ones == 0) {
      const double taken = time_of_region(threads);
      double least = it.least.load(std::memory_order_relaxed);
      while (taken < least && !it.least.compare_exchange_weak(least, taken, std::memory_order_relaxed)) {
      }
    }
    return it.least.load(std::memory_order_relaxed);
  }

 private:
  /// Clang's pass for AMD GPUs ignores OpenMP, and with it the number of threads.
  static double time_of_region([[maybe_unused]] int threads) {
    using clock = std::chrono::steady_clock;
    const clock::time_point begin = clock::now();
#pragma omp parallel num_threads(threads)
    {
      asm volatile("");  // keeps the region
    }
    return std::chrono::duration<double, std::nano>(clock::now() - begin).count();
  }

  struct known {
    std::atomic<unsigned> calls{0};
    std::atomic<double> least{std::numeric_limits<double>::max()};
  };
  std::array<known, 512> known_;
};
#endif

}  // namespace

host_work memory_work(std::size_t bytes, std::size_t working_set) {
  // One thread of a Zen 5 reads and writes 20 to 45 bytes in a nanosecond, and one of an Intel Skylake 7 to 9.
  constexpr double of_a_byte = compiled_for_zen ? 0.02 : 0.08;
  return {exceeds_caches(bytes, working_set) ? of_a_byte * static_cast<double>(bytes) : 0};
}

double launch_nanoseconds(int threads) {
#if defined(KOKKOS_ENABLE_OPENMP)
  if (omp_in_parallel() != 0) return usual_launch_nanoseconds(threads);
  // Kokkos takes some 300 ns beside the region. Estimates of work are too low rather than too high, and the factor
  // makes up for that. It is that of the constants which were found best before launches were measured: 1.06 us where a
  // launch takes 1.2 to 1.4 (Zen 3), and 1.45 us where it takes 1.9 (Emerald Rapids).
  constexpr double of_kokkos = 300, factor = 0.8;
  static region_times regions;
  return factor * (regions.least(threads) + of_kokkos);
#else
  return usual_launch_nanoseconds(threads);
#endif
}

bool pays_for_launch(const host_work& work, double largest_share, double launch_nanoseconds) {
  return work.nanoseconds * (1 - largest_share) > launch_nanoseconds;
}

bool threads_pay(const host_work& work, int threads, double largest_share) {
  if (threads == 1) return false;
  // Most work is so small, or so large, that the answer is clear. Then nothing is measured.
  constexpr double range = 4;
  const double usual = usual_launch_nanoseconds(threads);
  if (!pays_for_launch(work, largest_share, usual / range)) return false;
  return pays_for_launch(work, largest_share, range * usual) ||
         pays_for_launch(work, largest_share, launch_nanoseconds(threads));
}

}  // namespace prumo::detail
