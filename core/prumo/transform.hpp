// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Runs the caller's own formulas on the element-wise engine: with the same packs, streaming stores and loop order as
/// prumo's own operations.

#include <prumo/check.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/view_assertions.hpp>
#include <prumo/math.hpp>
#include <prumo/values.hpp>

#include <string>
#include <tuple>
#include <utility>

namespace prumo {
namespace detail {

/// The number of outputs that a formula's result has values for.
template <class Result>
inline constexpr std::size_t values_in = 1;
template <class... Types>
inline constexpr std::size_t values_in<values<Types...>> = sizeof...(Types);

/// Whether the formula takes a value of each of the first views, and returns one for each of the last `Outputs` views.
template <std::size_t Outputs, class Formula, class... Views>
constexpr bool fits_outputs() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    using views = std::tuple<Views...>;
    if constexpr (std::is_invocable_v<const Formula&, compute_t<element_of_t<std::tuple_element_t<I, views>>>...>) {
      using result = std::invoke_result_t<const Formula&, compute_t<element_of_t<std::tuple_element_t<I, views>>>...>;
      return values_in<std::remove_cvref_t<result>> == Outputs;
    } else {
      return false;
    }
  }(std::make_index_sequence<sizeof...(Views) - Outputs>{});
}

/// The number of outputs among the views; 0 if the formula fits no number.
template <class Formula, class... Views>
constexpr std::size_t count_outputs() {
  return []<std::size_t... Before>(std::index_sequence<Before...>) {
    std::size_t found = 0;
    (void)((fits_outputs<Before + 1, Formula, Views...>() && (found = Before + 1, true)) || ...);
    return found;
  }(std::index_sequence_for<Views...>{});
}

/// The type that tells kernels which of their arrays are outputs; see elementwise_arrays.hpp.
template <class... Types>
struct output_types {
  using type = values<Types...>;
};
template <class Type>
struct output_types<Type> {
  using type = Type;
};

template <class Space, class Formula, class Views, std::size_t... I, std::size_t... O>
void transform_views(const Space& space, const Formula& formula, const Views& views, std::index_sequence<I...>,
                     std::index_sequence<O...>) {
  using exec = space_of_t<Space>;
  constexpr std::size_t inputs = sizeof...(I);
  constexpr bool are_writable = (is_writable<std::remove_cvref_t<std::tuple_element_t<inputs + O, Views>>>() && ...);
  static_assert(are_writable, "prumo::transform: an output view is const");
  static const std::string label = "prumo::transform::kernel";
  if constexpr (are_writable) {
    using out =
        typename output_types<element_of_t<std::remove_cvref_t<std::tuple_element_t<inputs + O, Views>>>...>::type;
    const instance_ref where(space);
    const array_ref to[] = {array_ref(std::get<inputs + O>(views))...};
    const array_ref from[inputs + 1] = {array_ref(std::get<I>(views))...};
    check::elementwise("prumo::transform", where, {{"output", to[O]}...}, {{"input", from[I]}...});
    launch_elementwise<out, element_of_t<std::remove_cvref_t<std::tuple_element_t<I, Views>>>...>(
        where.instance<exec>(), label, formula, where.working_set(), to[O]..., from[I]...);
  }
}

}  // namespace detail

/// output(i, j, ...) = formula(input_1(i, j, ...), ...) for every element; with several outputs, each takes one of the
/// values that the formula returns.
///
/// `space` is a context or a bare execution space instance. `formula` is a copyable function object whose call operator
/// is const, is a KOKKOS_FUNCTION and takes one value of each input's compute type (`float` for f16 and bf16). For one
/// output it returns a value that converts to the output's type. For several outputs it returns a prumo::values with
/// one value for each. The other arguments are the inputs and then the outputs: at most 12 views of any layout and
/// strides.
///
/// All outputs have the same extents. Inputs have these extents, too, or broadcast to them by NumPy's rule: an input of
/// lower rank has the last dimensions of the outputs, and an input with extent 1 is repeated along that dimension. An
/// output may be one of the inputs; any other overlap is refused. Asynchronous on the instance.
///
/// A bias for each column of a matrix, and an activation:
///
///     struct relu_of_sum {
///       KOKKOS_FUNCTION float operator()(float x, float bias) const { return prumo::maximum(x + bias, 0.0f); }
///     };
///     prumo::transform(ctx, relu_of_sum{}, x, bias, y);  // x and y: [rows x columns], bias: [columns]
///
/// A step of gradient descent with momentum, which writes two arrays in one pass:
///
///     struct momentum_step {
///       float rate, decay;
///       KOKKOS_FUNCTION auto operator()(float weight, float gradient, float velocity) const {
///         const float next = decay * velocity + gradient;
///         return prumo::values(weight - rate * next, next);
///       }
///     };
///     prumo::transform(ctx, momentum_step{0.1f, 0.9f}, weight, gradient, velocity, weight, velocity);
///
/// On a host, a formula is fastest if its call operator is a template over its type of numbers and the formula says
/// `static constexpr bool takes_vectors = true`. Then C below is `float` or `double`, or vectors of them, and the loop
/// is vector code with every compiler and with any flags:
///
///     struct swish_gate {
///       static constexpr bool takes_vectors = true;
///       template <class C>
///       KOKKOS_FUNCTION C operator()(C x, C y) const {
///         return prumo::select(x < C(-20), C(0), x * prumo::sigmoid(x) * y);
///       }
///     };
///
/// Such a formula calls the functions of <prumo/math.hpp>, chooses with prumo::select instead of `if` and `?:`, and
/// writes numbers as C(0). It is computed on single numbers where arrays have different compute types. The loops of
/// other formulas are left to the compiler: link the CMake target prumo::kernel_flags, which has the flags of prumo's
/// own kernels.
///
/// Throws argument_error, shape_error and alias_error.
template <class Space, class Formula, class... Views>
void transform(const Space& space, const Formula& formula, const Views&... inputs_then_outputs) {
  PRUMO_ASSERT_ARRAYS("prumo::transform", Space, Views...);
  static_assert(sizeof...(Views) >= 1, "prumo::transform: the last argument is the output view");
  static_assert(sizeof...(Views) <= 12, "prumo::transform: a kernel takes 12 views at most");
  constexpr bool are_views_of_numbers = ((Kokkos::is_view_v<Views> && detail::has_scalars<Views>) && ...);
  static_assert(are_views_of_numbers,
                "prumo::transform: the arguments after the formula are Kokkos views of float, double, prumo::f16 or "
                "prumo::bf16");
  if constexpr (!std::is_void_v<detail::space_of_t<Space>> && are_views_of_numbers && sizeof...(Views) >= 1) {
    constexpr std::size_t outputs = detail::count_outputs<Formula, Views...>();
    static_assert(
        outputs > 0,
        "prumo::transform: the formula cannot be called with one value of each input; its call operator is "
        "const and takes one argument for each input. With several outputs it returns a prumo::values with one "
        "value for each");
    if constexpr (outputs > 0) {
      detail::transform_views(space, formula, std::tie(inputs_then_outputs...),
                              std::make_index_sequence<sizeof...(Views) - outputs>{},
                              std::make_index_sequence<outputs>{});
    }
  }
}

}  // namespace prumo
