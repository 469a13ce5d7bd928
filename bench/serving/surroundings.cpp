// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/build_identity.hpp>
#include <prumo/serving/surroundings.hpp>

#include <cstdlib>
#include <string_view>

namespace prumo::protocol {
namespace {

// NOLINTNEXTLINE(readability-redundant-string-init): empty only where none is chosen
constexpr std::string_view sanitizers(PRUMO_SANITIZERS);

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

json environment_variables(std::span<const std::string> names) {
  json environment = json::object();
  for (const std::string& name : names) {
    if (const char* value = std::getenv(name.c_str())) environment[name] = value;
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
