// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "share_launches_of_type.hpp"

namespace prumo::nets {
PRUMO_INSTANTIATE_SHARE_STEPS(double)
}  // namespace prumo::nets
