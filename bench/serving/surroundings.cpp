// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/build_identity.hpp>
#include <prumo/serving/surroundings.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#if defined(__APPLE__)
#include <crt_externs.h>
#else
extern char** environ;
#endif

namespace prumo::protocol {
namespace {

char** environment_block() {
#if defined(__APPLE__)
  return *_NSGetEnviron();
#else
  return environ;
#endif
}

// NOLINTNEXTLINE(readability-redundant-string-init): empty only where none is chosen
constexpr std::string_view sanitizers(PRUMO_SANITIZERS);

constexpr std::string_view prefixes_that_matter[] = {
    "OMP_",    "GOMP_",           "KMP_",        "KOKKOS_", "OPENBLAS_", "GOTO_", "BLIS_",    "MKL_",
    "CUDA_",   "CUBLAS_",         "NVIDIA_",     "HIP_",    "HSA_",      "ROCR_", "ROCBLAS_", "HIPBLASLT_",
    "MALLOC_", "GLIBC_TUNABLES=", "LD_PRELOAD=", "PRUMO_",  "ONEDNN_",   "DNNL_", "TENSILE_"};

/// Where a toolkit is installed changes no measurement.
bool tells_a_place(std::string_view name) {
  return name.ends_with("_HOME") || name.ends_with("_PATH") || name.ends_with("_ROOT") || name.ends_with("_DIR");
}

}  // namespace

std::string prumo_version() { return PRUMO_VERSION_STRING; }

json build_description() {
  json build = {{"type", PRUMO_BUILD_TYPE}, {"flags", PRUMO_BUILD_FLAGS}};
  if (const std::string id = build_identity(); !id.empty()) build["id"] = id;
  if (!sanitizers.empty()) build["sanitizers"] = std::string(sanitizers);
  return build;
}

std::string compiler_version() {
  const auto dotted = [](int major, int minor, int patch) {
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  };
#if defined(__INTEL_LLVM_COMPILER)
  return "Intel " + std::to_string(__INTEL_LLVM_COMPILER);
#elif defined(__clang__)
  return "Clang " + dotted(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return "GCC " + dotted(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

json environment_that_matters() {
  std::vector<std::string_view> entries;
  for (char** entry = environment_block(); entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (std::ranges::any_of(prefixes_that_matter, [&](std::string_view prefix) { return text.starts_with(prefix); })) {
      entries.push_back(text);
    }
  }
  std::ranges::sort(entries);
  json environment = json::object();
  for (const std::string_view entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || tells_a_place(entry.substr(0, equals))) continue;
    environment[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
  }
  return environment;
}

std::vector<std::string> surrounding_warnings(bool binds_threads) {
  std::vector<std::string> warnings;
#if !defined(NDEBUG)
  warnings.emplace_back("this is a build with assertions, not for measuring: configure with CMAKE_BUILD_TYPE=Release");
#endif
  if (!sanitizers.empty()) {
    warnings.emplace_back("this build runs under sanitizers (" PRUMO_SANITIZERS "), not for measuring");
  }
  if (binds_threads && std::getenv("OMP_PROC_BIND") == nullptr && std::getenv("GOMP_CPU_AFFINITY") == nullptr &&
      std::getenv("KMP_AFFINITY") == nullptr) {
    warnings.emplace_back(
        "threads may wander between cores: set OMP_PROC_BIND=close and OMP_PLACES=cores (spread for several sockets)");
  }
  return warnings;
}

}  // namespace prumo::protocol
