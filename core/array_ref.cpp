// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/array_ref.hpp>

#include <algorithm>
#include <utility>

namespace prumo {
namespace {

/// Whether the array has no gaps and its last (or first) dimension is the fastest.
bool follows(const array_ref& array, bool last_is_fastest) {
  std::int64_t expected = 1;
  for (int step = 0; step < array.rank; ++step) {
    const int dimension = last_is_fastest ? array.rank - 1 - step : step;
    if (array.extents[dimension] != 1 && array.strides[dimension] != expected) return false;
    expected *= array.extents[dimension];
  }
  return true;
}

/// `3 x 4` or `4, 1`.
std::string list(const std::int64_t* numbers, int count, const char* separator) {
  std::string text;
  for (int which = 0; which < count; ++which) text += (which > 0 ? separator : "") + std::to_string(numbers[which]);
  return text;
}

}  // namespace

array_ref::array_ref(void* first, dtype element_type, std::initializer_list<std::int64_t> array_extents,
                     std::initializer_list<std::int64_t> array_strides, memory_kind where)
    : data(first),
      type(element_type),
      memory(where),
      rank(static_cast<int>(std::min<std::size_t>(array_extents.size(), max_rank))) {
  std::copy_n(array_extents.begin(), rank, extents);
  if (array_strides.size() == array_extents.size()) {
    std::copy_n(array_strides.begin(), rank, strides);
    return;
  }
  std::int64_t stride = 1;
  for (int dimension = rank - 1; dimension >= 0; --dimension) {
    strides[dimension] = stride;
    stride *= extents[dimension];
  }
}

std::string_view memory_kind_name(memory_kind memory) {
  constexpr std::string_view names[] = {"Host", "Cuda",       "CudaUVM",       "CudaHostPinned",
                                        "HIP",  "HIPManaged", "HIPHostPinned", "a space of its own"};
  return names[static_cast<std::size_t>(memory)];
}

std::string_view layout_name(const array_ref& array) {
  if (follows(array, true)) return "right";
  return follows(array, false) ? "left" : "strided";
}

std::string to_string(const named_array& argument) {
  const array_ref& array = argument.array;
  const std::string label = array.read_label != nullptr ? array.read_label(array.labelled) : "";
  return std::string(argument.name) + (label.empty() ? "" : " '" + label + "'") + ": " +
         std::string(dtype_name(array.type)) + " [" + list(array.extents, array.rank, " x ") + "], strides (" +
         list(array.strides, array.rank, ", ") + "), " + std::string(layout_name(array)) + ", in " +
         std::string(memory_kind_name(array.memory));
}

bool same_elements(const array_ref& first, const array_ref& second) {
  if (first.data != second.data || first.type != second.type || first.rank != second.rank) return false;
  for (int dimension = 0; dimension < first.rank; ++dimension) {
    if (first.extents[dimension] != second.extents[dimension]) return false;
    if (first.extents[dimension] > 1 && first.strides[dimension] != second.strides[dimension]) return false;
  }
  return true;
}

array_ref transposed(const array_ref& matrix) {
  array_ref turned = matrix;
  std::swap(turned.extents[matrix.rank - 2], turned.extents[matrix.rank - 1]);
  std::swap(turned.strides[matrix.rank - 2], turned.strides[matrix.rank - 1]);
  return turned;
}

}  // namespace prumo
