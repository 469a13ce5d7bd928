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

/// What every operation asks of its arrays, of which at least one is an output:
/// - Work on `space` can be enqueued, and can use each array: it has a valid rank, valid extents and memory that can be
///   accessed from there. Outputs are not read only. Else argument_error.
/// - No output has two indices at the same address, and none overlaps another output, or an input in a way that is not
///   `allowed`. Else alias_error. Elements are compared, not address ranges: disjoint blocks of one matrix pass. Where
///   strides are so irregular that a search with a limit does not decide it, the arrays are refused, unless the caller
///   vouches for them.
void arrays(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs,
            aliasing allowed = aliasing::none);

/// What an element-wise operation asks for: arrays() that may overlap in place, outputs of equal extents, and inputs
/// that broadcast to them. Else shape_error.
void elementwise(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs);

/// Throws the error of same_scalar_type().
[[noreturn]] void throw_scalar_type(std::string_view operation, arguments arrays);

/// All arrays have the type of the first, which is f32, f64, f16 or bf16. Else argument_error.
inline void same_scalar_type(std::string_view operation, arguments arrays) {
  const dtype type = arrays.begin()->array.type;
  bool is_one_type = is_scalar_type(type);
  for (const named_array& each : arrays) is_one_type = is_one_type && each.array.type == type;
  if (!is_one_type) [[unlikely]]
    throw_scalar_type(operation, arrays);
}

/// Throws the error of rank().
[[noreturn]] void throw_rank(std::string_view operation, const named_array& array, int rank);

/// The array has this rank, or argument_error.
inline void rank(std::string_view operation, const named_array& array, int rank) {
  if (array.array.rank != rank) [[unlikely]]
    throw_rank(operation, array, rank);
}

/// Whether two arrays have the same extents.
inline bool have_same_extents(const array_ref& first, const array_ref& second) {
  if (first.rank != second.rank) return false;
  for (int dimension = 0; dimension < first.rank; ++dimension) {
    if (first.extents[dimension] != second.extents[dimension]) return false;
  }
  return true;
}

/// All arrays have the extents of the first, or shape_error that says what was expected.
inline void same_extents(std::string_view operation, arguments arrays,
                         std::string_view expected = "arrays of the same extents") {
  for (const named_array& each : arrays) {
    if (!have_same_extents(arrays.begin()->array, each.array)) [[unlikely]]
      throw_shape(operation, expected, arrays);
  }
}

/// Whether the first array broadcasts to the second one, by NumPy's rule: its dimensions are those of the second, or of
/// its last ones, and where its extent is 1 it is repeated.
bool broadcasts_to(const array_ref& array, const array_ref& target);

}  // namespace check
}  // namespace prumo
