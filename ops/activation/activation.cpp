// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/activation.hpp>
#include <prumo/detail/elementwise_instantiation.hpp>

PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::sigmoid_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::tanh_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::relu_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::gelu_formula)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNARY, prumo::gelu_by_tanh_formula)
