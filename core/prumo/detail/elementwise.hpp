// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// For the sources of element-wise operations: checks, and a formula's kernels for every space and type.

#include <prumo/check.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/math.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace prumo::detail {

/// What an element-wise operation and its kernel are called. An operation has one, static: a label is made once.
struct elementwise_name {
  explicit elementwise_name(std::string_view name) : operation(name), label(std::string(name) + "::elementwise") {}

  std::string_view operation;
  std::string label;
};

/// The type of the input in place of `Input`, which is there to be repeated.
template <class T, class Input>
using type_for = T;

/// The formula for elements of T: `make_formula.operator()<C>()` for their compute type C, or `operator()<C, T>()` if
/// it depends on how results are rounded.
template <class T, class MakeFormula>
auto formula_for(const MakeFormula& make_formula) {
  if constexpr (requires { make_formula.template operator()<compute_t<T>, T>(); }) {
    return make_formula.template operator()<compute_t<T>, T>();
  } else {
    return make_formula.template operator()<compute_t<T>>();
  }
}

/// Enqueues output = formula(inputs...), element by element, without checks: the formula of formula_for(). All arrays
/// have the output's type.
template <class MakeFormula, std::same_as<array_ref>... Inputs>
void enqueue_elementwise(const elementwise_name& name, const instance_ref& space, const MakeFormula& make_formula,
                         const array_ref& output, const Inputs&... inputs) {
  with_space_and_scalar(space.space(), output.type, [&]<class Exec, class T> {
    launch_elementwise<T, type_for<T, Inputs>...>(space.instance<Exec>(), name.label, formula_for<T>(make_formula),
                                                  space.working_set(), output, inputs...);
  });
}

/// The checks of an element-wise operation whose arrays have one type. Throws argument_error, shape_error and
/// alias_error.
inline void check_elementwise(const elementwise_name& name, const instance_ref& space, const named_array& output,
                              check::arguments inputs) {
  check::elementwise(name.operation, space, {output}, inputs);
  check::same_scalar_type(name.operation, {output});
  for (const named_array& input : inputs) check::same_scalar_type(name.operation, {output, input});
}

/// Checks the arrays and enqueues output = formula(inputs...).
template <class MakeFormula, std::same_as<named_array>... Inputs>
void run_elementwise(const elementwise_name& name, const instance_ref& space, const MakeFormula& make_formula,
                     const named_array& output, const Inputs&... inputs) {
  check_elementwise(name, space, output, {inputs...});
  enqueue_elementwise(name, space, make_formula, output.array, inputs.array...);
}

}  // namespace prumo::detail
