// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise engine for formulas of the caller's own: the packs, streaming stores and loop order that prumo's
/// own operations get.

#include <prumo/detail/elementwise.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/math.hpp>

#include <tuple>

namespace prumo {

/// output(i, j, ...) = formula(input_1(i, j, ...), ...) for every element.
///
/// `space` is a context or a bare execution space instance; `formula` a copyable function object whose call operator
/// is a KOKKOS_FUNCTION that takes one value of each input's compute type (`float` for f16 and bf16) and returns what
/// converts to the output's type; the last argument is the output. Views may have any layout and strides, and equal
/// extents. The output may be one of the inputs; any other overlap is refused. Asynchronous on the instance.
///
/// Throws shape_error and alias_error.
template <context_or_instance Space, class Formula, class... Views>
void transform(const Space& space, const Formula& formula, const Views&... inputs_then_output) {
  using Exec = detail::execution_space_of_t<Space>;
  static_assert(sizeof...(Views) >= 1, "prumo::transform: the last argument is the output view");
  static_assert((Kokkos::is_view_v<Views> && ...),
                "prumo::transform: the arguments after the formula are Kokkos views");
  static_assert((accessible_from<Views, Exec> && ...), "prumo::transform: a view cannot be accessed from the space");
  constexpr std::size_t input_count = sizeof...(Views) - 1;
  const auto views = std::tie(inputs_then_output...);
  using Output = std::remove_cvref_t<std::tuple_element_t<input_count, std::tuple<Views...>>>;
  static_assert(!std::is_const_v<typename Output::value_type>, "prumo::transform: the output view is const");
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::array<std::string_view, input_count + 1> names;
    names.fill("input");
    names.back() = "output";
    const auto problem = detail::make_elementwise_problem("prumo::transform", space, formula, names,
                                                          std::get<input_count>(views), std::get<I>(views)...);
    static const std::string label = "prumo::transform::kernel";
    detail::launch_elementwise_kernel(detail::instance_of(space), label, problem);
  }(std::make_index_sequence<input_count>{});
}

}  // namespace prumo
