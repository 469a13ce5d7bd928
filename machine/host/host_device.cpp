// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The services of device_facts.hpp and telemetry.hpp for the execution spaces that run on the host.

#include "host_facts.hpp"
#include "host_peaks.hpp"
#include "package_energy.hpp"
#include <prumo/machine/telemetry.hpp>
#include <prumo/spaces.hpp>

#include <cstdlib>

namespace prumo::machine {

namespace host {
namespace {

using namespace std::chrono_literals;

// Measuring takes half a second in all if there is one kind of core. A processor leaves its power-saving clocks within
// tens of milliseconds.
constexpr auto settling_time = 40ms;
constexpr auto measuring_time = 30ms;
constexpr auto load_settling_time = 60ms;
constexpr auto load_measuring_time = 60ms;
constexpr auto pipe_measuring_time = 20ms;

struct ask_where_threads_run {
  std::vector<int>* allowed_cpus;
  void operator()(int thread) const { allowed_cpus[thread] = allowed_cpus_of_this_thread(); }
};

/// All threads begin and end at the same times. So no barrier is needed, which would hang if a thread never came.
struct read_light_clock {
  clock_reading* readings;
  probe_clock::time_point begin;
  void operator()(int thread) const {
    readings[thread].light_mhz = measure_light_clock(begin, begin + measuring_time);
    readings[thread].cpu = current_cpu();
  }
};

struct read_clock_under_load {
  clock_reading* readings;
  fma_kernel load;
  probe_clock::time_point begin;
  void operator()(int thread) const {
    readings[thread].under_load = measure_clock_under(load, begin, begin + load_measuring_time);
  }
};

/// Calls functor(i) on thread i of the instance.
template <class Exec, class Functor>
void on_every_thread(const Exec& instance, const char* label, const Functor& functor) {
  using policy_type = Kokkos::RangePolicy<Exec, Kokkos::IndexType<int>, Kokkos::Schedule<Kokkos::Static>>;
  Kokkos::parallel_for(label, policy_type(instance, 0, concurrency_of(instance)).set_chunk_size(1), functor);
  instance.fence("prumo::machine::facts_of");
}

/// Measures the pipes of each kind of core, on one hardware thread of the kind.
std::vector<std::optional<fma_measurement>> measure_kinds(const host_observation& seen,
                                                          const std::vector<fma_kernel>& kernels) {
  std::vector<std::optional<fma_measurement>> result(seen.machine.kinds.size());
  for (const hardware_thread& thread : threads_among(seen.machine, union_of(seen.allowed_cpus))) {
    auto& of_kind = result[static_cast<std::size_t>(thread.kind)];
    if (!of_kind) of_kind = measure_fma_units(kernels, thread.cpu, pipe_measuring_time);
#if !defined(__linux__)
    break;  // threads cannot be bound here, so only the fastest cores are measured
#endif
  }
  return result;
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

template <class Exec>
device_facts gather_facts(const Exec& instance, std::string_view backend, clock_probe probe) {
  const system_files files;
  host_observation seen;
  seen.backend = backend;
  seen.proc_bind = environment("OMP_PROC_BIND");
  seen.places = environment("OMP_PLACES");
  seen.subject = identify_processor(files);
  seen.machine = read_topology(files);
  seen.allowed_cpus.resize(static_cast<std::size_t>(concurrency_of(instance)));
  on_every_thread(instance, "prumo::machine::threads", ask_where_threads_run{seen.allowed_cpus.data()});
  if (probe == clock_probe::run) {
    const auto kernels = fma_kernels(seen.subject.instruction_sets);
    seen.fma_units = measure_kinds(seen, kernels);
    seen.readings.resize(seen.allowed_cpus.size());
    on_every_thread(instance, "prumo::machine::clock",
                    read_light_clock{seen.readings.data(), probe_clock::now() + settling_time});
    const bool units_known = !seen.fma_units.empty() && seen.fma_units.front();
    if (units_known || !kernels.empty()) {
      const fma_kernel load = units_known ? seen.fma_units.front()->kernel : kernels.front();
      on_every_thread(instance, "prumo::machine::vector_clock",
                      read_clock_under_load{seen.readings.data(), load, probe_clock::now() + load_settling_time});
    }
  }
  return assemble_facts(seen, files);
}

/// The energy of all processor packages. One object follows their counters for all instances.
device_reading read_packages() {
  static package_energy packages{system_files()};
  device_reading reading;
  reading.energy_j = packages.read();
  return reading;
}

}  // namespace
}  // namespace host

#define PRUMO_DEFINE_HOST_FACTS(Space, name)                                                                 \
  device_facts facts_of(const Space& instance, clock_probe probe) {                                          \
    return host::gather_facts(instance, name, probe);                                                        \
  }                                                                                                          \
  std::vector<peak> peaks_of(const Space&, const device_facts& facts) { return host::peaks_of_host(facts); } \
  device_reading read_telemetry(const Space&) { return host::read_packages(); }
PRUMO_IF_SERIAL(PRUMO_DEFINE_HOST_FACTS(Kokkos::Serial, "serial"))
PRUMO_IF_OPENMP(PRUMO_DEFINE_HOST_FACTS(Kokkos::OpenMP, "openmp"))
PRUMO_IF_THREADS(PRUMO_DEFINE_HOST_FACTS(Kokkos::Threads, "threads"))
#undef PRUMO_DEFINE_HOST_FACTS

}  // namespace prumo::machine
