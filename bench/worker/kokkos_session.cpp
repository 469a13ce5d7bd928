// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kokkos_session.hpp"

#include <prumo/machine/availability.hpp>
#include <prumo/protocol/thread_number.hpp>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#if defined(KOKKOS_ENABLE_OPENMP)
#include <omp.h>
#endif

namespace prumo::worker {
namespace {

Kokkos::Tools::Experimental::requestToolSettingsFunction previous_request = nullptr;

/// Tells Kokkos not to fence before and after each callback of a tool, because these fences would be measured, too.
void decline_global_fences(const std::uint32_t count, Kokkos::Tools::Experimental::ToolSettings* settings) {
  if (previous_request != nullptr) previous_request(count, settings);
  settings->requires_global_fencing = false;
}

bool has_too_many_processors() { return std::cmp_greater(std::thread::hardware_concurrency(), protocol::most_threads); }

/// Where the environment chooses no number, OpenMP takes all processors.
void limit_threads() {
#if defined(KOKKOS_ENABLE_OPENMP)
  if (has_too_many_processors() && std::getenv("OMP_NUM_THREADS") == nullptr) {
    omp_set_num_threads(protocol::most_threads);
  }
#endif
}

}  // namespace

kokkos_session::kokkos_session(int& argc, char** argv) {
  if (const std::string nonsense = protocol::why_no_threads(); !nonsense.empty()) throw std::runtime_error(nonsense);
  // If a device cannot be used, Kokkos ends the program, even if this is a worker for the host.
  const std::string problem = machine::why_no_device<Kokkos::DefaultExecutionSpace>();
  if (!problem.empty()) throw std::runtime_error(problem);
  setenv("KOKKOS_DISABLE_WARNINGS", "1", 0);
  previous_request = Kokkos::Tools::Experimental::get_callbacks().request_tool_settings;
  Kokkos::Tools::Experimental::set_request_tool_settings_callback(decline_global_fences);
  limit_threads();
  Kokkos::initialize(argc, argv);
}

kokkos_session::~kokkos_session() { Kokkos::finalize(); }

std::string kokkos_version() {
  return std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
         std::to_string(KOKKOS_VERSION % 100);
}

std::vector<std::string> kokkos_warnings() {
  std::vector<std::string> warnings;
  for (const char* variable : {"KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"}) {
    if (const char* library = std::getenv(variable); library != nullptr && *library != '\0') {
      warnings.push_back("a Kokkos tool is loaded (" + std::string(variable) + "=" + library + "): times include it");
    }
  }
  if (has_too_many_processors()) {
    warnings.push_back("this machine has " + std::to_string(std::thread::hardware_concurrency()) +
                       " hardware threads, and Kokkos uses " + std::to_string(protocol::most_threads) + " at most");
  }
#if defined(KOKKOS_ENABLE_DEBUG_BOUNDS_CHECK)
  warnings.emplace_back("this Kokkos checks bounds at every access, not for measuring");
#endif
  return warnings;
}

}  // namespace prumo::worker
