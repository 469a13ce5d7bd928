// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/candidate.hpp>

#include <cstdio>
#include <cstdlib>

namespace prumo::backend {

bool dispatch_is_verbose() {
  const char* const value = std::getenv("PRUMO_VERBOSE");
  std::string topics(",");
  topics.append(value != nullptr ? value : "").append(",");
  return topics.find(",dispatch,") != std::string::npos;
}

dispatch_region::~dispatch_region() {
  if (is_seen_) Kokkos::Profiling::popRegion();
}

void dispatch_region::push(std::string_view operation, std::string_view implementation, const std::string& details) {
  Kokkos::Profiling::pushRegion(std::string(operation) + "[" + std::string(implementation) + "," + details + "]");
}

void print_dispatch(std::string_view operation, const std::string& problem, const char* space, const std::string& log) {
  const std::string text = std::string(operation) + ": " + problem + " in " + space + "\n" + log;
  std::fputs(text.c_str(), stderr);
}

}  // namespace prumo::backend
