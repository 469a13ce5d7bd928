// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Measures clocks and pipes, which many machines do not report.

#include "fma_kernels.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace prumo::machine::host {

using probe_clock = std::chrono::steady_clock;

/// A clock in MHz, and the median of the fused multiply-adds of whole vectors that the thread did in one cycle.
struct clock_under_load {
  double mhz = 0;
  double fma_rate = 0;
};

/// What one thread measured.
struct clock_reading {
  int cpu = -1;                                ///< where it ran; -1 if the system does not say
  std::optional<double> light_mhz;             ///< while all threads ran integer additions
  std::optional<clock_under_load> under_load;  ///< while all threads ran vector fused multiply-adds
};

/// The clock in MHz, from the times of the integer chain on the calling thread between `begin` and `end`. The chain
/// runs unmeasured until `begin`, so that the clock settles and all threads are at work. Interruptions and the other
/// thread of a core can only lengthen a sample, so the result is the upper quartile of the clocks. None if it is not
/// between 500 and 7000 MHz.
std::optional<double> measure_light_clock(probe_clock::time_point begin, probe_clock::time_point end);

/// The same, while the thread runs the fused multiply-adds of `load` for most of the time. The chain and the load take
/// turns that are too short for the clock to follow.
std::optional<clock_under_load> measure_clock_under(const fma_kernel& load, probe_clock::time_point begin,
                                                    probe_clock::time_point end);

/// Measures the fused multiply-adds of whole vectors that the calling thread's core starts each cycle. The result is
/// the best of several windows. The core should have nothing else to do.
std::optional<double> measure_fma_rate(const fma_kernel& kernel, probe_clock::duration time);

/// The number of pipes for a measured rate: 0.5, 1, 2, 3, 4, ... if the rate is within 12 % of it, none otherwise. A
/// rate of 0.5 means that the core computes a vector in two halves.
std::optional<double> pipes_of_rate(double rate);

/// The measurement of a core with the best kernel: it does the most bits in a cycle. Of equal kernels the wider counts.
struct fma_measurement {
  int bits = 0;
  double pipes = 0;
  double rate = 0;  ///< as measured
  fma_kernel kernel;
};

/// Measures every kernel on one new thread. The thread is bound to the hardware thread `cpu` if the system can do that
/// (-1: unbound). None if no kernel gave a whole number of pipes.
std::optional<fma_measurement> measure_fma_units(const std::vector<fma_kernel>& kernels, int cpu,
                                                 probe_clock::duration time_each);

/// The median; none if the list is empty.
std::optional<double> median_of(std::vector<double> values);

/// The hardware threads where the calling thread may run; empty if the system does not say. The second function tells
/// where it runs now; -1 if the system does not say.
std::vector<int> allowed_cpus_of_this_thread();
int current_cpu();

}  // namespace prumo::machine::host
