// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "overlap.hpp"
#include <prumo/check.hpp>

#include <array>
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

/// The arrays have no byte in common, or alias_error: `operation: expected EXPECTED; ...`.
void apart(std::string_view operation, const instance_ref& space, const named_array& output, const named_array& other,
           std::string_view expected) {
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

void apart_from_input(std::string_view operation, const instance_ref& space, const named_array& output,
                      const named_array& input, aliasing allowed) {
  if (allowed == aliasing::none) {
    apart(operation, space, output, input, "an output that is apart from the inputs");
  } else if (!same_elements(output.array, input.array)) {
    apart(operation, space, output, input, "an output that is apart from the inputs, or exactly one of them");
  }
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

/// dtype_size() and can_access() as tables. A jump for each would take longer than the look below.
constexpr auto bytes_of_element = [] {
  std::array<std::uint8_t, static_cast<std::size_t>(dtype::u8) + 1> bytes{};
  for (std::size_t type = 0; type < bytes.size(); ++type) {
    bytes[type] = static_cast<std::uint8_t>(dtype_size(static_cast<dtype>(type)));
  }
  return bytes;
}();
constexpr auto is_accessible = [] {
  std::array<std::array<bool, static_cast<std::size_t>(memory_kind::other) + 1>,
             static_cast<std::size_t>(space_kind::hip) + 1>
      answers{};
  for (std::size_t space = 0; space < answers.size(); ++space) {
    for (std::size_t memory = 0; memory < answers[space].size(); ++memory) {
      answers[space][memory] = can_access(static_cast<space_kind>(space), static_cast<memory_kind>(memory));
    }
  }
  return answers;
}();

/// What a short look at an array tells. It answers all questions about most arrays, and only the others are searched:
/// the checks are a large part of what a call costs the host.
struct short_look {
  std::uintptr_t begin;
  /// The bytes from the first element to the last one. 0 if that takes a closer look: the array has no element, a
  /// negative stride, or numbers whose products might not fit.
  std::uintptr_t bytes = 0;

  explicit short_look(const array_ref& array) : begin(reinterpret_cast<std::uintptr_t>(array.data)) {
    std::uint64_t reach = 0, bits = 0;
    for (int dimension = 0; dimension < array.rank; ++dimension) {
      const auto steps = static_cast<std::uint64_t>(array.extents[dimension] - 1);
      const auto stride = static_cast<std::uint64_t>(array.strides[dimension]);
      bits |= steps | stride;
      reach += steps * stride;
    }
    // The products of max_rank pairs of numbers below 2^28 are below 2^62 in bytes, also added up.
    if (bits >> 28 == 0) bytes = (reach + 1) * bytes_of_element[static_cast<std::size_t>(array.type)];
  }

  bool is_complete() const { return bytes != 0; }

  /// Whether one array begins behind the end of the other one.
  bool is_apart_from(const short_look& other) const {
    return is_complete() && other.is_complete() &&
           (begin < other.begin ? other.begin - begin >= bytes : begin - other.begin >= other.bytes);
  }
};

/// Whether each stride is larger than the reach of all later dimensions, so that no element has two indices. The short
/// look at the array is complete.
bool is_nested(const array_ref& array) {
  std::int64_t reach = 0;
  for (int dimension = array.rank - 1; dimension >= 0; --dimension) {
    const std::int64_t steps = array.extents[dimension] - 1, stride = array.strides[dimension];
    if (stride <= reach && steps != 0) return false;
    reach += steps * stride;
  }
  return true;
}

/// The short look at an array that work on `space` can use, or the error of usable_array().
short_look usable_look(std::string_view operation, const instance_ref& space, const named_array& argument) {
  const array_ref& array = argument.array;
  const bool has_rank = static_cast<unsigned>(array.rank) <= unsigned{max_rank};
  if (!has_rank || array.data == nullptr ||
      !is_accessible[static_cast<std::size_t>(space.space())][static_cast<std::size_t>(array.memory)]) {
    usable_array(operation, space, argument);
  }
  const short_look look(array);
  if (!look.is_complete()) usable_array(operation, space, argument);
  return look;
}

}  // namespace

void throw_shape(std::string_view operation, std::string_view expected, arguments arrays) {
  throw shape_error(message(operation, expected, arrays));
}

void throw_argument(std::string_view operation, std::string_view expected, arguments arrays) {
  throw argument_error(message(operation, expected, arrays));
}

void throw_scalar_type(std::string_view operation, arguments arrays) {
  throw_argument(
      operation,
      is_scalar_type(arrays.begin()->array.type) ? "arrays of the same type" : "arrays of f32, f64, f16 or bf16",
      arrays);
}

void throw_rank(std::string_view operation, const named_array& array, int rank) {
  throw_argument(operation, std::string(array.name) + " to have rank " + std::to_string(rank), {array});
}

void arrays(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs,
            aliasing allowed) {
  if (const char* const reason = space.why_unusable(); reason != nullptr) {
    throw argument_error(std::string(operation) + ": " + reason);
  }
  for (const named_array* output = outputs.begin(); output != outputs.end(); ++output) {
    const short_look look = usable_look(operation, space, *output);
    if (output->array.read_only) throw_argument(operation, "an output that may be written to", {*output});
    if (!look.is_complete() || !is_nested(output->array)) distinct_elements(operation, space, *output);
    for (const named_array* other = outputs.begin(); other != output; ++other) {
      if (look.is_apart_from(short_look(other->array))) continue;
      apart(operation, space, *output, *other, "outputs that are apart from each other");
    }
    for (const named_array& input : inputs) {
      if (look.is_apart_from(usable_look(operation, space, input))) continue;
      apart_from_input(operation, space, *output, input, allowed);
    }
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

void elementwise(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs) {
  arrays(operation, space, outputs, inputs, aliasing::in_place);
  same_extents(operation, outputs, "outputs of the same extents");
  const array_ref& first = outputs.begin()->array;
  for (const named_array& input : inputs) {
    if (broadcasts_to(input.array, first)) continue;
    throw shape_error(std::string(operation) +
                      ": expected arrays of the same extents, or inputs that broadcast to the output; got " +
                      list(inputs) + "; " + list(outputs));
  }
}

}  // namespace prumo::check
