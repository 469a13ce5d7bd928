// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// For the sources of element-wise operations: compiles the kernels of a formula for every space and type.

#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/math.hpp>

namespace prumo::detail {

template <class Exec, class Formula, class Out, class... In>
void launch_elementwise(const Exec& instance, const std::string& label,
                        const elementwise_problem<Formula, Out, In...>& problem) {
  launch_elementwise_kernel(instance, label, problem);
}

}  // namespace prumo::detail

/// A formula's kernels for one space; the output's type and the inputs'.
#define PRUMO_INSTANTIATE_ELEMENTWISE(Space, Formula, ...)                      \
  template void prumo::detail::launch_elementwise<Space, Formula, __VA_ARGS__>( \
      const Space&, const std::string&, const prumo::detail::elementwise_problem<Formula, __VA_ARGS__>&);
#define PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, T, ...) \
  PRUMO_INSTANTIATE_ELEMENTWISE(Space, Formula<prumo::compute_t<T>>, __VA_ARGS__)
#define PRUMO_INSTANTIATE_UNARY(Space, Formula)                                         \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, float, float, float)                \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, double, double, double)             \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, prumo::f16, prumo::f16, prumo::f16) \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, prumo::bf16, prumo::bf16, prumo::bf16)
#define PRUMO_INSTANTIATE_BINARY(Space, Formula)                                                    \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, float, float, float, float)                     \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, double, double, double, double)                 \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, prumo::f16, prumo::f16, prumo::f16, prumo::f16) \
  PRUMO_INSTANTIATE_ELEMENTWISE_FOR(Space, Formula, prumo::bf16, prumo::bf16, prumo::bf16, prumo::bf16)
