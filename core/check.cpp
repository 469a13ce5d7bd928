// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

bool is_empty(const array_ref& array) {
  return std::find(array.extents, array.extents + array.rank, 0) != array.extents + array.rank;
}

struct byte_span {
  std::intptr_t begin;
  std::intptr_t end;
};

byte_span span_of(const array_ref& array) {
  const auto bytes = static_cast<std::int64_t>(dtype_size(array.type));
  const auto base = reinterpret_cast<std::intptr_t>(array.data);
  byte_span span{base, base + static_cast<std::intptr_t>(bytes)};
  for (int dimension = 0; dimension < array.rank; ++dimension) {
    const std::int64_t reach = (array.extents[dimension] - 1) * array.strides[dimension] * bytes;
    (reach < 0 ? span.begin : span.end) += static_cast<std::intptr_t>(reach);
  }
  return span;
}

bool spans_overlap(const array_ref& first, const array_ref& second) {
  if (is_empty(first) || is_empty(second)) return false;
  const byte_span a = span_of(first);
  const byte_span b = span_of(second);
  return a.begin < b.end && b.begin < a.end;
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

}  // namespace

void throw_shape(std::string_view operation, std::string_view expected, arguments arrays) {
  throw shape_error(message(operation, expected, arrays));
}

void throw_argument(std::string_view operation, std::string_view expected, arguments arrays) {
  throw argument_error(message(operation, expected, arrays));
}

void usable(std::string_view operation, const instance_ref& space, arguments outputs, arguments inputs) {
  if (const char* const reason = space.why_unusable(); reason != nullptr) {
    throw argument_error(std::string(operation) + ": " + reason);
  }
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

void same_extents(std::string_view operation, arguments arrays) {
  for (const named_array& each : arrays) {
    if (!have_same_extents(arrays.begin()->array, each.array)) {
      throw_shape(operation, "arrays of the same extents", arrays);
    }
  }
}

void no_overlap(std::string_view operation, const named_array& output, const named_array& input, aliasing allowed) {
  if (!spans_overlap(output.array, input.array)) return;
  if (allowed == aliasing::in_place && same_elements(output.array, input.array)) return;
  const std::string_view expected = allowed == aliasing::in_place
                                        ? "an output that is apart from the inputs, or exactly one of them"
                                        : "an output that is apart from the inputs";
  throw alias_error(std::string(operation) + ": expected " + std::string(expected) + "; " + to_string(output) +
                    " overlaps " + to_string(input));
}

void distinct_elements(std::string_view operation, const named_array& output) {
  const array_ref& array = output.array;
  if (is_empty(array)) return;  // Kokkos gives the rows of a matrix without columns a stride of 0.
  for (int dimension = 0; dimension < array.rank; ++dimension) {
    if (array.extents[dimension] > 1 && array.strides[dimension] == 0) {
      throw alias_error(std::string(operation) +
                        ": expected an output whose elements have addresses of their own; got " + to_string(output));
    }
  }
}

void in_place(std::string_view operation, const instance_ref& space, const named_array& output, arguments inputs) {
  usable(operation, space, {output}, inputs);
  for (const named_array& input : inputs) {
    if (have_same_extents(input.array, output.array)) continue;
    throw shape_error(std::string(operation) + ": expected arrays of the same extents; got " + list(inputs) + "; " +
                      to_string(output));
  }
  distinct_elements(operation, output);
  for (const named_array& input : inputs) no_overlap(operation, output, input, aliasing::in_place);
}

}  // namespace prumo::check
