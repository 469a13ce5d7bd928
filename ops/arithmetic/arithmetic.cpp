// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/arithmetic.hpp>
#include <prumo/detail/elementwise_instantiation.hpp>

PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BINARY, prumo::add_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BINARY, prumo::mul_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::scale_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BINARY, prumo::axpby_formula)
