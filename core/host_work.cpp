// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/host/host_work.hpp>

namespace prumo::detail {

bool threads_pay(const host_work& work, int threads, double largest_share) {
  constexpr double of_a_launch = 300, of_a_thread = 230;  // nanoseconds
  return work.nanoseconds * (1 - largest_share) > of_a_launch + of_a_thread * threads;
}

}  // namespace prumo::detail
