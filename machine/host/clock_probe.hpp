// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Clocks and pipes by measurement, for the many machines that do not tell them.

#include "fma_kernels.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace prumo::machine::host {

using probe_clock = std::chrono::steady_clock;

/// A clock in MHz, and fused multiply-adds of whole vectors a cycle that the thread got done meanwhile (the
/// median).
struct clock_under_load {
  double mhz = 0;
  double fma_rate = 0;
};

/// What one thread saw.
struct clock_reading {
  int cpu = -1;                                ///< where it ran; -1 where the system does not tell
  std::optional<double> light_mhz;             ///< while all threads ran integer additions
  std::optional<clock_under_load> under_load;  ///< while all threads ran vector fused multiply-adds
};

/// Times the integer chain on the calling thread from `begin` to `end` and returns the clock in MHz; before
/// `begin` it runs unmeasured, so that the clock settles and all threads are at work. Interruptions and the
/// other thread of a core only lengthen a sample, so the upper quartile is taken. None outside 500 ... 7000
/// MHz.
std::optional<double> measure_light_clock(probe_clock::time_point begin, probe_clock::time_point end);

/// The same with the fused multiply-adds of `load` for most of the time, in turns so short that the clock
/// cannot follow.
std::optional<clock_under_load> measure_clock_under(const fma_kernel& load, probe_clock::time_point begin,
                                                    probe_clock::time_point end);

/// Fused multiply-adds of whole vectors that the calling thread's core starts each cycle, as measured; the
/// best of several windows. The core should have nothing else to do.
std::optional<double> measure_fma_rate(const fma_kernel& kernel, probe_clock::duration time);

/// The number of pipes that a measured rate shows: 0.5, 1, 2, 3, 4, ... within 12 %, none otherwise. A rate
/// of 0.5 stands for vectors that a core works off in two halves.
std::optional<double> pipes_of_rate(double rate);

/// How a core of one kind is measured best: the kernel with the most bits a cycle, the wider one of equals.
struct fma_measurement {
  int bits = 0;
  double pipes = 0;
  double rate = 0;  ///< as measured
  fma_kernel kernel;
};

/// Measures every kernel on a thread of its own, bound to hardware thread `cpu` where the system can (-1:
/// unbound). None where no kernel gave a whole number of pipes.
std::optional<fma_measurement> measure_fma_units(const std::vector<fma_kernel>& kernels, int cpu,
                                                 probe_clock::duration time_each);

/// The median; none of an empty list.
std::optional<double> median_of(std::vector<double> values);

/// Where the calling thread may run and runs; empty and -1 where the system does not tell.
std::vector<int> allowed_cpus_of_this_thread();
int current_cpu();

}  // namespace prumo::machine::host
