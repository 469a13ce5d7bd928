// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "clock_probe.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace prumo::machine::host {

namespace {

// At 4 GHz a block takes 16 microseconds. That is long beside the 30 nanoseconds of reading the time, and short beside
// the hundreds of microseconds that a processor takes to change its clock.
constexpr std::int64_t chain_rounds = 500;

double seconds_since(probe_clock::time_point start) {
  return std::chrono::duration<double>(probe_clock::now() - start).count();
}

/// The clock in Hz, from the time of one block of the chain.
double chain_hertz() {
  const auto start = probe_clock::now();
  integer_chain(chain_rounds);
  return static_cast<double>(chain_rounds * chain_length) / seconds_since(start);
}

std::optional<double> plausible_mhz(std::vector<double> hertz) {
  if (hertz.empty()) return std::nullopt;
  const auto quartile = hertz.begin() + static_cast<std::ptrdiff_t>((hertz.size() - 1) * 3 / 4);
  std::nth_element(hertz.begin(), quartile, hertz.end());
  const double megahertz = *quartile * 1e-6;
  return megahertz >= 500 && megahertz <= 7000 ? std::optional(megahertz) : std::nullopt;
}

/// How many rounds take about as long as `chain_blocks` blocks of the chain.
std::int64_t rounds_for(const fma_kernel& kernel, double chain_blocks) {
  const double cycles = static_cast<double>(chain_rounds * chain_length) * chain_blocks;
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(2 * cycles / static_cast<double>(kernel.vectors_per_round)));
}

void bind_this_thread([[maybe_unused]] int cpu) {
#if defined(__linux__)
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  sched_setaffinity(0, sizeof(set), &set);  // if the system refuses, the thread measures unbound
#endif
}

}  // namespace

std::optional<double> measure_light_clock(probe_clock::time_point begin, probe_clock::time_point end) {
  if constexpr (!has_integer_chain) return std::nullopt;
  while (probe_clock::now() < begin) integer_chain(chain_rounds);
  std::vector<double> hertz;
  do {
    hertz.push_back(chain_hertz());
  } while (probe_clock::now() < end);
  return plausible_mhz(std::move(hertz));
}

std::optional<clock_under_load> measure_clock_under(const fma_kernel& load, probe_clock::time_point begin,
                                                    probe_clock::time_point end) {
  if constexpr (!has_integer_chain) return std::nullopt;
  const std::int64_t rounds = rounds_for(load, 4);
  while (probe_clock::now() < begin) load.run(rounds);
  std::vector<double> hertz;
  std::vector<double> rates;
  do {
    const auto start = probe_clock::now();
    load.run(rounds);
    rates.push_back(static_cast<double>(rounds * load.vectors_per_round) / seconds_since(start));
    hertz.push_back(chain_hertz());
  } while (probe_clock::now() < end);
  const auto megahertz = plausible_mhz(std::move(hertz));
  if (!megahertz) return std::nullopt;
  return clock_under_load{*megahertz, *median_of(std::move(rates)) / (*megahertz * 1e6)};
}

std::optional<double> measure_fma_rate(const fma_kernel& kernel, probe_clock::duration time) {
  if constexpr (!has_integer_chain) return std::nullopt;
  const std::int64_t rounds = rounds_for(kernel, 2);
  const auto start = probe_clock::now();
  // The first half lets the clock settle and the wide units wake up.
  while (probe_clock::now() < start + time / 2) kernel.run(rounds);
  double best = 0;
  double best_hertz = 0;
  do {
    const auto before = probe_clock::now();
    kernel.run(rounds);
    best = std::max(best, static_cast<double>(rounds * kernel.vectors_per_round) / seconds_since(before));
    best_hertz = std::max(best_hertz, chain_hertz());
  } while (probe_clock::now() < start + time);
  return best_hertz > 0 ? std::optional(best / best_hertz) : std::nullopt;
}

std::optional<double> pipes_of_rate(double rate) {
  const double nearest = rate < 0.75 ? 0.5 : std::round(rate);
  return std::abs(rate - nearest) <= 0.12 * nearest ? std::optional(nearest) : std::nullopt;
}

std::optional<fma_measurement> measure_fma_units(const std::vector<fma_kernel>& kernels, int cpu,
                                                 probe_clock::duration time_each) {
  std::optional<fma_measurement> best;
  std::thread probe([&] {
    bind_this_thread(cpu);
    for (const fma_kernel& kernel : kernels) {
      const auto rate = measure_fma_rate(kernel, time_each);
      const auto pipes = rate ? pipes_of_rate(*rate) : std::nullopt;
      if (!pipes) continue;
      if (!best || *pipes * kernel.bits > best->pipes * best->bits) best = {kernel.bits, *pipes, *rate, kernel};
    }
  });
  probe.join();
  return best;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<int> allowed_cpus_of_this_thread() {
  std::vector<int> cpus;
#if defined(__linux__)
  // The kernel refuses a set smaller than its own; machines may have more threads than cpu_set_t counts.
  for (std::size_t capacity = CPU_SETSIZE; capacity <= 65536; capacity *= 2) {
    cpu_set_t* const set = CPU_ALLOC(capacity);
    if (set == nullptr) break;
    const bool answered = sched_getaffinity(0, CPU_ALLOC_SIZE(capacity), set) == 0;
    for (std::size_t cpu = 0; answered && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(capacity), set)) cpus.push_back(static_cast<int>(cpu));
    }
    CPU_FREE(set);
    if (answered) break;
  }
#endif
  return cpus;
}

int current_cpu() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

}  // namespace prumo::machine::host
