// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_reduction.hpp"

PRUMO_DEFINE_REDUCTION(max)
PRUMO_DEFINE_REDUCTION(min)
