// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise engine's plain side: the problem that views are lowered to, and the launch that the operations'
/// sources instantiate once a type. The kernels are in elementwise_kernel.hpp.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace prumo::detail {

template <class... Views>
inline constexpr bool are_views = (Kokkos::is_view_v<Views> && ...);
template <class First, class... Rest>
inline constexpr bool have_one_rank = ((First::rank() == Rest::rank()) && ...);
template <class First, class... Rest>
inline constexpr bool have_one_type =
    scalar<typename First::value_type> &&
    (std::is_same_v<typename First::non_const_value_type, typename Rest::non_const_value_type> && ...);
template <class Exec, class... Views>
inline constexpr bool are_accessible = (accessible_from<Views, Exec> && ...);

/// output[i] = formula(inputs[i]...), over arrays of equal extents.
template <class Formula, class Out, class... In>
struct elementwise_problem {
  Formula formula;
  array<Out> output;
  std::tuple<array<const In>...> inputs;
  std::size_t working_set = 0;
};

/// Enqueues the kernel on the instance: the library's own copy, compiled in the operation's source by
/// elementwise_instantiation.hpp.
template <class Exec, class Formula, class Out, class... In>
void launch_elementwise(const Exec& instance, const std::string& label,
                        const elementwise_problem<Formula, Out, In...>& problem);

/// Throws where views differ in extents or an output overlaps an input that it is not; `names` are the arguments'
/// names, inputs first.
template <class Output, class... Inputs>
void check_elementwise(std::string_view operation, const std::array<std::string_view, sizeof...(Inputs) + 1>& names,
                       const Output& output, const Inputs&... inputs) {
  static_assert(((Inputs::rank() == Output::rank()) && ...), "prumo: element-wise arrays have the same rank");
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    check::in_place(operation, describe(output, names[sizeof...(Inputs)]), describe(inputs, names[I])...);
  }(std::index_sequence_for<Inputs...>{});
}

/// Checks views and lowers them to an element-wise problem.
template <class Formula, class Space, class Output, class... Inputs>
auto make_elementwise_problem(std::string_view operation, const Space& space, const Formula& formula,
                              const std::array<std::string_view, sizeof...(Inputs) + 1>& names, const Output& output,
                              const Inputs&... inputs) {
  check_elementwise(operation, names, output, inputs...);
  return elementwise_problem<Formula, typename Output::non_const_value_type, typename Inputs::non_const_value_type...>{
      formula, lower(output), {lower_const(inputs)...}, working_set_of(space)};
}

/// Checks, lowers and enqueues the library's own kernel for a formula.
template <class Formula, class Space, class Output, class... Inputs>
void run_elementwise(std::string_view operation, const std::string& label, const Space& space, const Formula& formula,
                     const std::array<std::string_view, sizeof...(Inputs) + 1>& names, const Output& output,
                     const Inputs&... inputs) {
  launch_elementwise(instance_of(space), label,
                     make_elementwise_problem(operation, space, formula, names, output, inputs...));
}

}  // namespace prumo::detail

/// The static assertions of an element-wise operation; views in the order inputs, output.
#define PRUMO_ASSERT_ELEMENTWISE(operation, Space, Output, ...)                                                       \
  static_assert(::prumo::detail::are_views<Output __VA_OPT__(, ) __VA_ARGS__>,                                        \
                operation ": the arguments after the space and parameters are Kokkos views");                         \
  static_assert(::prumo::detail::have_one_rank<Output __VA_OPT__(, ) __VA_ARGS__>,                                    \
                operation ": the views differ in rank");                                                              \
  static_assert(::prumo::detail::have_one_type<Output __VA_OPT__(, ) __VA_ARGS__>,                                    \
                operation ": the views differ in value type, or it is not float, double, prumo::f16 or prumo::bf16"); \
  static_assert(::prumo::detail::are_accessible<::prumo::detail::execution_space_of_t<Space>,                         \
                                                Output __VA_OPT__(, ) __VA_ARGS__>,                                   \
                operation ": a view cannot be accessed from the execution space");                                    \
  static_assert(!std::is_const_v<typename Output::value_type>, operation ": the output view is const")
