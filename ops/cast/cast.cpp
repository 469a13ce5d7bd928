// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/cast.hpp>
#include <prumo/detail/elementwise_instantiation.hpp>

#define PRUMO_INSTANTIATE_CAST(Space, From, To)                                                    \
  template void prumo::detail::launch_elementwise<Space, prumo::cast_formula<From, To>, To, From>( \
      const Space&, const std::string&,                                                            \
      const prumo::detail::elementwise_problem<prumo::cast_formula<From, To>, To, From>&);
#define PRUMO_INSTANTIATE_CASTS(Space, From)      \
  PRUMO_INSTANTIATE_CAST(Space, From, float)      \
  PRUMO_INSTANTIATE_CAST(Space, From, double)     \
  PRUMO_INSTANTIATE_CAST(Space, From, prumo::f16) \
  PRUMO_INSTANTIATE_CAST(Space, From, prumo::bf16)

PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_CASTS, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_CASTS, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_CASTS, prumo::f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_CASTS, prumo::bf16)
