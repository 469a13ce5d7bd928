// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise engine for formulas of the caller's own: the packs, streaming stores and loop order that prumo's
/// own operations get.

#include <prumo/check.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/math.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace prumo {
namespace detail {

template <class Space, class Formula, class Output, class... Inputs>
void transform_views(const Space& space, const Formula& formula, const Output& output, const Inputs&... inputs) {
  using exec = space_of_t<Space>;
  constexpr bool takes_the_inputs = std::is_invocable_v<const Formula&, compute_t<typename Inputs::value_type>...>;
  static_assert(takes_the_inputs,
                "prumo::transform: the formula cannot be called with one value of each input; its call operator is "
                "const and takes as many arguments as there are views before the output");
  static_assert(!std::is_const_v<typename Output::value_type>, "prumo::transform: the output view is const");
  static const std::string label = "prumo::transform::kernel";
  if constexpr (takes_the_inputs) {
    const instance_ref where(space);
    const array_ref to(output);
    check::in_place("prumo::transform", where, {"output", to}, {{"input", array_ref(inputs)}...});
    launch_elementwise<typename Output::value_type, typename Inputs::non_const_value_type...>(
        where.instance<exec>(), label, formula, where.working_set(), to, array_ref(inputs)...);
  }
}

}  // namespace detail

/// output(i, j, ...) = formula(input_1(i, j, ...), ...) for every element.
///
/// `space` is a context or a bare execution space instance; `formula` a copyable function object whose call operator
/// is a KOKKOS_FUNCTION that takes one value of each input's compute type (`float` for f16 and bf16) and returns what
/// converts to the output's type; the last argument is the output. Views may have any layout and strides, and equal
/// extents. The output may be one of the inputs; any other overlap is refused. Asynchronous on the instance.
///
/// Throws argument_error, shape_error and alias_error.
template <class Space, class Formula, class... Views>
void transform(const Space& space, const Formula& formula, const Views&... inputs_then_output) {
  PRUMO_ASSERT_ARRAYS("prumo::transform", Space, Views...);
  static_assert(sizeof...(Views) >= 1, "prumo::transform: the last argument is the output view");
  constexpr bool are_views_of_numbers = ((Kokkos::is_view_v<Views> && detail::has_scalars<Views>) && ...);
  static_assert(are_views_of_numbers,
                "prumo::transform: the arguments after the formula are Kokkos views of float, double, prumo::f16 or "
                "prumo::bf16");
  if constexpr (!std::is_void_v<detail::space_of_t<Space>> && are_views_of_numbers && sizeof...(Views) >= 1) {
    const auto views = std::tie(inputs_then_output...);
    constexpr std::size_t input_count = sizeof...(Views) - 1;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      detail::transform_views(space, formula, std::get<input_count>(views), std::get<I>(views)...);
    }(std::make_index_sequence<input_count>{});
  }
}

}  // namespace prumo
