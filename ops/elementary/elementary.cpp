// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/detail/elementwise_instantiation.hpp>
#include <prumo/elementary.hpp>

PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::exp_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::log_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::sqrt_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::rsqrt_formula)
