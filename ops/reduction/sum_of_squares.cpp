// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction_launch.hpp"

PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_REDUCTION, prumo::detail::reduction::sum_of_squares)
