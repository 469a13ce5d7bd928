// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "overlap.hpp"
#include <prumo/check.hpp>

#include <algorithm>
#include <string>

namespace prumo::check {
namespace {

std::string list(arguments arrays) {
  std::string text;
  for (const named_array& array : arrays) text += (text.empty() ? "" : "; ") + to_string(array);
  return text;
}

std::string message(std::string_view operation, std::string_view expected, arguments arrays) {
  return std::string(operation) + ": expected " + std::string(expected) + "; got " + list(arrays);
}

detail::strided_bytes bytes_of(const array_ref& array) {
  static_assert(max_rank <= detail::max_compared_rank);
  return {reinterpret_cast<std::uintptr_t>(array.data), static_cast<std::int64_t>(dtype_size(array.type)), array.rank,
          array.extents, array.strides};
}

void usable_array(std::string_view operation, const instance_ref& space, const named_array& argument) {
  const array_ref& array = argument.array;
  if (array.rank < 0 || array.rank > max_rank) {
    throw argument_error(std::string(operation) + ": expected " + std::string(argument.name) +
                         " to have a rank from 0 to " + std::to_string(max_rank) + "; it has rank " +
                         std::to_string(array.rank));
  }
  bool empty = false;
  for (int dimension = 0; dimension < array.rank; ++dimension) {
    if (array.extents[dimension] < 0) throw_argument(operation, "no negative extent", {argument});
    empty = empty || array.extents[dimension] == 0;
  }
  if (array.data == nullptr && !empty) throw_argument(operation, "arrays with memory of their own", {argument});
  if (!can_access(space.space(), array.memory)) {
    throw_argument(operation, "arrays that " + std::string(space_name(space.space())) + " can access", {argument});
  }
}

/// Whether arrays are what most calls give: of the same extents, without gaps, row-major, in memory that `space` can
/// access, and no output meets another array but an input that is the very same. No check would refuse them, and to see
/// that takes a quarter of the time of all checks one after the other.
bool are_ordinary(const instance_ref& space, arguments outputs, arguments inputs) {
  const array_ref& first = outputs.begin()->array;
  if (first.rank < 0 || first.rank > max_rank) return false;
  std::int64_t count = 1, most_bytes = 8;  // no element has more
  for (int dimension = first.rank - 1; dimension >= 0; --dimension) {
    const std::int64_t extent = first.extents[dimension];
    if (extent <= 0 || first.strides[dimension] != count) return false;
    if (__builtin_mul_overflow(most_bytes, extent, &most_bytes)) return false;
    count *= extent;
  }
  const auto fits = [&](const array_ref& array) {
    if (array.data == nullptr || array.rank != first.rank || !can_access(space.space(), array.memory)) return false;
    for (int dimension = 0; dimension < first.rank; ++dimension) {
      if (array.extents[dimension] != first.extents[dimension] ||
          array.strides[dimension] != first.strides[dimension]) {
        return false;
      }
    }
    return true;
  };
  const auto are_apart = [&](const array_ref& one, const array_ref& other) {
    const auto a = reinterpret_cast<std::uintptr_t>(one.data), b = reinterpret_cast<std::uintptr_t>(other.data);
    return (a < b ? b - a : a - b) >= static_cast<std::uintptr_t>(count) * dtype_size(a < b ? one.type : other.type);
  };
  for (const named_array& input : inputs) {
    if (!fits(input.array)) return false;
  }
  for (const named_array* output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->array.read_only || !fits(output->array)) return false;
    for (const named_array* other = outputs.begin(); other != output; ++other) {
      if (!are_apart(output->array, other->array)) return false;
    }
    for (const named_array& input : inputs) {
      const bool is_same = input.array.data == output->array.data && input.array.type == output->array.type;
      if (!is_same && !are_apart(output->array, input.array)) return false;
    }
  }
  return true;
}

void usable_space(std::string_view operation, const instance_ref& space) {
  if (const char* const reason = space.why_unusable(); reason != nullptr) {
    throw argument_error(std::string(operation) + ": " + reason);
  }
}

/// The bytes from an array's first element to its last one, or 0 where that takes a closer look: at negative strides,
/// at numbers whose products might not fit, or at an array without elements.
std::uintptr_t spanned_bytes(const array_ref& array) {
  std::uint64_t last = 0, bits = 0;
  for (int dimension = 0; dimension < array.rank; ++dimension) {
    const auto steps = static_cast<std::uint64_t>(array.extents[dimension] - 1);
    const auto stride = static_cast<std::uint64_t>(array.strides[dimension]);
    bits |= steps | stride;
    last += steps * stride;
  }
  // The products of max_rank pairs of numbers below 2^28 are below 2^62 in bytes, also added up.
  return bits >> 28 == 0 ? (last + 1) * dtype_size(array.type) : 0;
}

/// Whether one array begins behind the end of the other one: what most pairs of arrays do, and what costs a third of
/// the search for shared bytes.
bool are_behind_each_other(const array_ref& one, const array_ref& other) {
  const std::uintptr_t bytes = spanned_bytes(one), other_bytes = spanned_bytes(other);
  const auto begin = reinterpret_cast<std::uintptr_t>(one.data);
  const auto other_begin = reinterpret_cast<std::uintptr_t>(other.data);
  return bytes != 0 && other_bytes != 0 &&
         (begin < other_begin ? other_begin - begin >= bytes : begin - other_begin >= other_bytes);
}

/// The arrays have no byte in common, or alias_error: `operation: expected EXPECTED; ...`.
void apart(std::string_view operation, const instance_ref& space, const named_array& output, const named_array& other,
           std::string_view expected) {
  if (are_behind_each_other(output.array, other.array)) return;
  const detail::overlap found = detail::shared_bytes(bytes_of(output.array), bytes_of(other.array));
  if (found == detail::overlap::none) return;
  const std::string begin = std::string(operation) + ": expected " + std::string(expected) + "; ";
  const std::string overlaps = to_string(output) + " overlaps " + to_string(other);
  if (found == detail::overlap::some) throw alias_error(begin + overlaps);
  if (space.vouches_for_overlap()) return;
  throw alias_error(begin + "it is unknown whether " + overlaps +
                    ", because the search for a shared element reached its limit; give one of them other memory, or "
                    "vouch for them with context::set_vouches_for_overlap()");
}

}  // namespace

void throw_shape(std::string_view operation, std::string_view expected, arguments arrays) {
  throw shape_error(message(operation, expected, arrays));
}

void throw_argument(std::string_view operation, std::string_view expected, arguments arrays) {
  throw argument_error(message(operation, expected, arrays));
}

void usable(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs) {
  usable_space(operation, space);
  for (const named_array& output : outputs) {
    usable_array(operation, space, output);
    if (output.array.read_only) throw_argument(operation, "an output that may be written to", {output});
  }
  for (const named_array& input : inputs) usable_array(operation, space, input);
}

void same_scalar_type(std::string_view operation, arguments arrays) {
  const dtype type = arrays.begin()->array.type;
  if (!is_scalar_type(type)) throw_argument(operation, "arrays of f32, f64, f16 or bf16", arrays);
  for (const named_array& each : arrays) {
    if (each.array.type != type) throw_argument(operation, "arrays of the same type", arrays);
  }
}

void rank(std::string_view operation, const named_array& array, int rank) {
  if (array.array.rank == rank) return;
  throw_argument(operation, std::string(array.name) + " to have rank " + std::to_string(rank), {array});
}

bool have_same_extents(const array_ref& first, const array_ref& second) {
  return first.rank == second.rank && std::equal(first.extents, first.extents + first.rank, second.extents);
}

void same_extents(std::string_view operation, arguments arrays, std::string_view expected) {
  for (const named_array* each = arrays.begin() + 1; each < arrays.end(); ++each) {
    if (!have_same_extents(arrays.begin()->array, each->array)) throw_shape(operation, expected, arrays);
  }
}

bool broadcasts_to(const array_ref& array, const array_ref& target) {
  const int missing = target.rank - array.rank;
  for (int dimension = 0; dimension < array.rank && missing >= 0; ++dimension) {
    const std::int64_t extent = array.extents[dimension];
    if (extent != 1 && extent != target.extents[missing + dimension]) return false;
  }
  return missing >= 0;
}

void no_overlap(std::string_view operation, const instance_ref& space, const named_array& output,
                const named_array& input, aliasing allowed) {
  if (allowed == aliasing::in_place && same_elements(output.array, input.array)) return;
  apart(operation, space, output, input,
        allowed == aliasing::in_place ? "an output that is apart from the inputs, or exactly one of them"
                                      : "an output that is apart from the inputs");
}

void distinct_elements(std::string_view operation, const instance_ref& space, const named_array& output) {
  const detail::overlap found = detail::repeated_elements(bytes_of(output.array));
  if (found == detail::overlap::none) return;
  const std::string expected =
      std::string(operation) + ": expected an output whose elements have addresses of their own; ";
  if (found == detail::overlap::some) throw alias_error(expected + "got " + to_string(output));
  if (space.vouches_for_overlap()) return;
  throw alias_error(expected + "it is unknown whether those of " + to_string(output) +
                    " do, because the search for two indices of one element reached its limit; give the output "
                    "strides that are multiples of one another, or vouch for it with "
                    "context::set_vouches_for_overlap()");
}

void elementwise(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs) {
  if (are_ordinary(space, outputs, inputs)) return usable_space(operation, space);
  usable(operation, space, outputs, inputs);
  same_extents(operation, outputs, "outputs of the same extents");
  const array_ref& first = outputs.begin()->array;
  for (const named_array& input : inputs) {
    if (broadcasts_to(input.array, first)) continue;
    throw shape_error(std::string(operation) +
                      ": expected arrays of the same extents, or inputs that broadcast to the output; got " +
                      list(inputs) + "; " + list(outputs));
  }
  for (const named_array* output = outputs.begin(); output != outputs.end(); ++output) {
    distinct_elements(operation, space, *output);
    for (const named_array* other = outputs.begin(); other != output; ++other) {
      apart(operation, space, *output, *other, "outputs that are apart from each other");
    }
    for (const named_array& input : inputs) no_overlap(operation, space, *output, input, aliasing::in_place);
  }
}

}  // namespace prumo::check
