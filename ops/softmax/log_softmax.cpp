// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_launch.hpp"

namespace prumo::detail {

#define PRUMO_INSTANTIATE(Space) PRUMO_INSTANTIATE_SOFTMAX(Space, log_softmax_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE)

}  // namespace prumo::detail
