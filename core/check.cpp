// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/check.hpp>

#include <algorithm>
#include <string>

namespace prumo::check {
namespace {

std::string list(std::initializer_list<array_description> arrays) {
  std::string text;
  for (const array_description& array : arrays) text += (text.empty() ? "" : "; ") + to_string(array);
  return text;
}

}  // namespace

void throw_shape(std::string_view operation, std::string_view expected,
                 std::initializer_list<array_description> arrays) {
  throw shape_error(std::string(operation) + ": expected " + std::string(expected) + "; got " + list(arrays));
}

bool have_same_extents(const array_description& first, const array_description& second) {
  return first.rank == second.rank && std::equal(first.extents, first.extents + first.rank, second.extents);
}

void no_overlap(std::string_view operation, const array_description& output, const array_description& input,
                aliasing allowed) {
  if (!spans_overlap(output, input)) return;
  if (allowed == aliasing::in_place && same_elements(output, input)) return;
  const std::string_view expected = allowed == aliasing::in_place
                                        ? "an output that is apart from the inputs, or exactly one of them"
                                        : "an output that is apart from the inputs";
  throw alias_error(std::string(operation) + ": expected " + std::string(expected) + "; " + to_string(output) +
                    " overlaps " + to_string(input));
}

void distinct_elements(std::string_view operation, const array_description& output) {
  // Kokkos gives the rows of a matrix without columns a stride of 0.
  if (std::find(output.extents, output.extents + output.rank, 0) != output.extents + output.rank) return;
  for (int dimension = 0; dimension < output.rank; ++dimension) {
    if (output.extents[dimension] > 1 && output.strides[dimension] == 0) {
      throw alias_error(std::string(operation) +
                        ": expected an output whose elements have addresses of their own; got " + to_string(output));
    }
  }
}

}  // namespace prumo::check
