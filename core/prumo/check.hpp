// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The run-time checks that operations share. Each throws an error whose message begins with the operation's name and
/// describes every array concerned.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/error.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace prumo {

/// How an output may overlap an input.
enum class aliasing : std::uint8_t {
  none,      ///< no byte in common
  in_place,  ///< either none, or the very same elements
};

namespace check {

/// What a list of arguments is passed as.
using arguments = std::initializer_list<named_array>;

/// Throws shape_error: `operation: expected EXPECTED; got ARRAY; ARRAY`.
[[noreturn]] void throw_shape(std::string_view operation, std::string_view expected, arguments arrays);

/// Throws argument_error in the same form.
[[noreturn]] void throw_argument(std::string_view operation, std::string_view expected, arguments arrays);

/// Every argument is an array that work on `space` can use: its memory was allocated and can be accessed from there,
/// its rank and extents are valid, and `space` itself can be used. Else argument_error. Outputs are not read only.
void usable(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs);

/// All arrays have the type of the first, which is f32, f64, f16 or bf16. Else argument_error.
void same_scalar_type(std::string_view operation, arguments arrays);

/// The array has this rank, or argument_error.
void rank(std::string_view operation, const named_array& array, int rank);

/// Whether two arrays have the same extents.
bool have_same_extents(const array_ref& first, const array_ref& second);

/// All arrays have the extents of the first, or shape_error that says what was expected.
void same_extents(std::string_view operation, arguments arrays,
                  std::string_view expected = "arrays of the same extents");

/// The output does not overlap the input in a way that the operation does not allow, or alias_error. Elements are
/// compared, not address ranges: disjoint blocks of one matrix pass. Where strides are so irregular that a search with
/// a limit does not decide it, the arrays are refused.
void no_overlap(std::string_view operation, const instance_ref& space, const named_array& output,
                const named_array& input, aliasing allowed);

/// The output has no two indices at the same address, or alias_error, also where a search with a limit does not decide
/// it.
void distinct_elements(std::string_view operation, const instance_ref& space, const named_array& output);

/// Whether the first array broadcasts to the second one, by NumPy's rule: its dimensions are those of the second, or of
/// its last ones, and where its extent is 1 it is repeated.
bool broadcasts_to(const array_ref& array, const array_ref& target);

/// What an element-wise operation asks for: usable arrays, outputs of equal extents whose elements have addresses of
/// their own, inputs that broadcast to them, and no overlap but of the very same elements.
void elementwise(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs);

}  // namespace check
}  // namespace prumo
