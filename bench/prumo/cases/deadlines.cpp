// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cases/deadlines.hpp"

#include <algorithm>

namespace prumo::bench {
namespace {

using steady = std::chrono::steady_clock;

}  // namespace

double seconds_until(steady_time when) { return std::chrono::duration<double>(when - steady::now()).count(); }

double seconds_since(steady_time when) { return -seconds_until(when); }

steady_time after_seconds(double seconds) {
  constexpr double a_year = 3e7;
  return steady::now() +
         std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, a_year)));
}

}  // namespace prumo::bench
