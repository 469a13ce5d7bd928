// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The run-time checks that operations share. Each throws an error whose message begins with the operation's name and
/// describes every array concerned.

#include <prumo/array.hpp>
#include <prumo/error.hpp>

#include <concepts>
#include <initializer_list>
#include <string_view>

namespace prumo {

/// How an output may overlap an input.
enum class aliasing : std::uint8_t {
  none,      ///< no byte in common
  in_place,  ///< either none, or the very same elements
};

namespace check {

/// Throws shape_error: `operation: expected; got ARRAY, ARRAY`.
[[noreturn]] void throw_shape(std::string_view operation, std::string_view expected,
                              std::initializer_list<array_description> arrays);

/// Whether two arrays have the same extents.
bool have_same_extents(const array_description& first, const array_description& second);

/// All arrays have the extents of the first, or shape_error.
template <std::same_as<array_description>... Others>
void same_extents(std::string_view operation, const array_description& first, const Others&... others) {
  if (!(have_same_extents(first, others) && ...)) {
    throw_shape(operation, "arrays of the same extents", {first, others...});
  }
}

/// The output does not overlap the input in a way that the operation does not allow, or alias_error.
void no_overlap(std::string_view operation, const array_description& output, const array_description& input,
                aliasing allowed);

/// The output has no two indices at the same address (a stride of 0 over an extent above 1), or alias_error.
void distinct_elements(std::string_view operation, const array_description& output);

/// What an operation asks for that may write over its inputs: equal extents, elements of the output that have addresses
/// of their own, and no overlap but of the very same elements.
template <std::same_as<array_description>... Inputs>
void in_place(std::string_view operation, const array_description& output, const Inputs&... inputs) {
  same_extents(operation, inputs..., output);
  distinct_elements(operation, output);
  (no_overlap(operation, output, inputs, aliasing::in_place), ...);
}

}  // namespace check

/// Whether kernels of Exec may read and write the view.
template <class View, class Exec>
inline constexpr bool accessible_from = Kokkos::SpaceAccessibility<Exec, typename View::memory_space>::accessible;

}  // namespace prumo
