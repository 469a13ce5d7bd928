// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prumo::nets {

/// One function of several, chosen by the type of the argument: for std::visit().
template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};

}  // namespace prumo::nets
