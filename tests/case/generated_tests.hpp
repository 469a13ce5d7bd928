// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

namespace prumo::tests {

/// Functions that add tests which are known at run time only. A test source appends to it while it is initialised.
inline std::vector<void (*)()>& generators() {
  static std::vector<void (*)()> functions;
  return functions;
}

}  // namespace prumo::tests
