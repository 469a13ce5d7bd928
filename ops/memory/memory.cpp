// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/elementwise_instantiation.hpp>
#include <prumo/memory.hpp>

PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_NULLARY, prumo::fill_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::copy_formula)
