// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/backend/candidate.hpp>

#include <cstdlib>

namespace prumo::backend {

bool dispatch_is_verbose() {
  const char* const value = std::getenv("PRUMO_VERBOSE");
  std::string topics(",");
  topics.append(value != nullptr ? value : "").append(",");
  return topics.find(",dispatch,") != std::string::npos;
}

}  // namespace prumo::backend
