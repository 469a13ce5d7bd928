// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_reduction.hpp"

PRUMO_DEFINE_REDUCTION(sum)
PRUMO_DEFINE_REDUCTION(mean)
PRUMO_DEFINE_REDUCTION(sum_of_squares)
