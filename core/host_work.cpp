// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/host/host_work.hpp>

namespace prumo::detail {

double launch_nanoseconds(int threads) {
#if defined(__AMX_TILE__)
  // Intel's servers. Two threads were measured to take 1.9 us. The smaller number here makes up for estimates of work,
  // which are too low on these processors.
  constexpr double of_a_launch = 1100, of_a_thread = 175;
#else
  // Two threads of a Zen 4 take .77 us, and those of a Zen 3 1.2 to 1.4.
  constexpr double of_a_launch = 600, of_a_thread = 230;
#endif
  return of_a_launch + of_a_thread * threads;
}

bool threads_pay(const host_work& work, int threads, double largest_share) {
  return work.nanoseconds * (1 - largest_share) > launch_nanoseconds(threads);
}

}  // namespace prumo::detail
