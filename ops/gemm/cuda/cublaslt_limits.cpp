// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cublaslt_limits.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace prumo::backend::cuda {
namespace {

constexpr int line_bytes = 16;

std::string not_a_multiple(const std::string& name, std::int64_t value, int multiple) {
  return "f8_e4m3 needs " + name + " to be a multiple of " + std::to_string(multiple) + ", it is " +
         std::to_string(value);
}

}  // namespace

std::string why_not_f8_device(prumo::detail::compute_capability capability) {
  if (has_f8(capability)) return {};
  return "f8_e4m3 needs compute capability 8.9 or later, this device has " + text_of(capability);
}

std::string why_not_f8_shape(const gemm_plan_shape& shape, bool is_turned, int result_bytes) {
  if (shape.transposed[0] || !shape.transposed[1]) {
    return "f8_e4m3 needs the rows of op(A) and the columns of op(B) to be contiguous: of row-major arrays, B stored "
           "transposed and A not (trans_a=0, trans_b=1); of column-major ones, A and not B (trans_a=1, trans_b=0)";
  }
  const std::string a = is_turned ? "B" : "A";
  const std::string b = is_turned ? "A" : "B";
  const int line_of_c = line_bytes / result_bytes;
  struct requirement {
    std::string name;
    std::int64_t value;
    int multiple;
  };
  const requirement requirements[] = {{"k", shape.extents[2], line_bytes},
                                      {is_turned ? "m" : "n", shape.extents[1], line_of_c},
                                      {"the leading dimension of " + a, shape.leading[0], line_bytes},
                                      {"the leading dimension of " + b, shape.leading[1], line_bytes},
                                      {"the leading dimension of C", shape.leading[2], line_of_c},
                                      {"the stride of " + a + "'s batch", shape.batch_strides[0], line_bytes},
                                      {"the stride of " + b + "'s batch", shape.batch_strides[1], line_bytes},
                                      {"the stride of C's batch", shape.batch_strides[2], line_of_c}};
  for (const requirement& it : requirements) {
    if (it.value % it.multiple != 0) return not_a_multiple(it.name, it.value, it.multiple);
  }
  return {};
}

std::string why_not_f8_alignments(const int (&alignments)[3]) {
  if (std::ranges::all_of(alignments, [](int alignment) { return alignment % line_bytes == 0; })) return {};
  return "f8_e4m3 needs A, B and C to begin at multiples of 16 bytes";
}

}  // namespace prumo::backend::cuda
