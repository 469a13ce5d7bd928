// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the compiler can check about an operation's arguments. An overload for Views asserts it before it describes its
/// views, with messages that begin with the operation's name. An argument may also be an array_ref, a context_ref or an
/// instance_ref. What these hold is checked when the program runs.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>

#include <type_traits>

namespace prumo::detail {

template <class T>
inline constexpr bool is_array_ref = std::is_same_v<T, array_ref>;

/// The execution space of an operation's first argument; void if it is known only at run time.
template <class Space>
struct space_of {
  using type = void;
};
template <class Exec>
struct space_of<context<Exec>> {
  using type = Exec;
};
template <class Exec>
  requires Kokkos::is_execution_space_v<Exec>
struct space_of<Exec> {
  using type = Exec;
};
template <class Space>
using space_of_t = typename space_of<std::remove_cvref_t<Space>>::type;

/// Whether the argument says where work is enqueued: it is an instance, a context, or a reference to one.
template <class Space>
inline constexpr bool is_context_or_instance =
    !std::is_void_v<space_of_t<Space>> || std::is_base_of_v<instance_ref, std::remove_cvref_t<Space>>;

/// Whether the argument is a context that outlives the call: not a temporary, and not const. `Space` is the type of a
/// forwarding reference.
template <class Space>
inline constexpr bool is_kept_context =
    std::is_same_v<std::remove_cvref_t<Space>, context_ref> ||
    (std::is_lvalue_reference_v<Space> && is_context_v<std::remove_reference_t<Space>>);

template <class... Arrays>
inline constexpr bool are_arrays = ((Kokkos::is_view_v<Arrays> || is_array_ref<Arrays>) && ...);

template <class Array>
constexpr bool has_rank(int rank) {
  if constexpr (Kokkos::is_view_v<Array>) return static_cast<int>(Array::rank()) == rank;
  return true;
}

template <int Rank, class... Arrays>
inline constexpr bool have_rank = (has_rank<Arrays>(Rank) && ...);

template <class Input, class Output>
constexpr bool has_no_higher_rank() {
  if constexpr (Kokkos::is_view_v<Input> && Kokkos::is_view_v<Output>) return Input::rank() <= Output::rank();
  return true;
}

/// Whether inputs can broadcast to the output, as far as the compiler knows.
template <class Output, class... Inputs>
inline constexpr bool can_broadcast = (has_no_higher_rank<Inputs, Output>() && ...);

template <class Array>
struct element_of {
  using type = void;
};
template <class Array>
  requires Kokkos::is_view_v<Array>
struct element_of<Array> {
  using type = typename Array::non_const_value_type;
};
/// The type of a view's elements; void for anything else.
template <class Array>
using element_of_t = typename element_of<Array>::type;

/// Whether both arrays have elements of the same type, as far as the compiler knows.
template <class First, class Second>
inline constexpr bool has_type_of = !Kokkos::is_view_v<First> || !Kokkos::is_view_v<Second> ||
                                    std::is_same_v<element_of_t<First>, element_of_t<Second>>;

/// Whether every operation takes elements of this type, as far as the compiler knows.
template <class Array>
inline constexpr bool has_scalars = !Kokkos::is_view_v<Array> || scalar<element_of_t<Array>>;

template <class First, class... Rest>
inline constexpr bool have_one_scalar_type = has_scalars<First> && (has_type_of<First, Rest> && ...);

template <class Array>
constexpr bool is_writable() {
  if constexpr (Kokkos::is_view_v<Array>) return !std::is_const_v<typename Array::value_type>;
  return true;
}

template <class Exec, class Array>
constexpr bool can_access_view() {
  if constexpr (!std::is_void_v<Exec> && Kokkos::is_view_v<Array>) {
    return Kokkos::SpaceAccessibility<Exec, typename Array::memory_space>::accessible;
  }
  return true;
}

template <class Space, class... Arrays>
inline constexpr bool are_accessible = (can_access_view<space_of_t<Space>, Arrays>() && ...);

}  // namespace prumo::detail

/// Asserts that the first argument is a context or an instance, and that the others are arrays that it can access.
#define PRUMO_ASSERT_ARRAYS(operation, Space, ...)                                                    \
  static_assert(::prumo::detail::is_context_or_instance<Space>,                                       \
                operation ": the first argument is a prumo::context or an execution space instance"); \
  static_assert(::prumo::detail::are_arrays<__VA_ARGS__>,                                             \
                operation ": the arrays are Kokkos views or prumo::array_ref");                       \
  static_assert(::prumo::detail::are_accessible<Space, __VA_ARGS__>,                                  \
                operation ": a view cannot be accessed from the execution space")

/// Asserts that the first argument is a context that the caller keeps, and that it can access the arrays.
#define PRUMO_ASSERT_KEPT_CONTEXT(operation, Space, ...)                                                  \
  static_assert(::prumo::detail::is_kept_context<Space>, operation                                        \
                ": the first argument is a prumo::context that is kept, because it owns memory that the " \
                "kernels use: not an instance, not a temporary, not const");                              \
  PRUMO_ASSERT_ARRAYS(operation, Space, __VA_ARGS__)

/// The assertions of an element-wise operation. The output is the first array.
#define PRUMO_ASSERT_ELEMENTWISE(operation, Space, Output, ...)                                                       \
  PRUMO_ASSERT_ARRAYS(operation, Space, Output __VA_OPT__(, ) __VA_ARGS__);                                           \
  static_assert(::prumo::detail::can_broadcast<Output __VA_OPT__(, ) __VA_ARGS__>,                                    \
                operation ": an input has a higher rank than the output");                                            \
  static_assert(::prumo::detail::have_one_scalar_type<Output __VA_OPT__(, ) __VA_ARGS__>,                             \
                operation ": the views differ in value type, or it is not float, double, prumo::f16 or prumo::bf16"); \
  static_assert(::prumo::detail::is_writable<Output>(), operation ": the output view is const")
