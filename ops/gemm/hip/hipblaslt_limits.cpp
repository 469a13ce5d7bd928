// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hipblaslt_limits.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace prumo::backend::hip {
namespace {

/// An architecture and the first release that is known to have kernels for it.
struct supported_target {
  std::string_view architecture;
  hipblaslt_version since;
};

constexpr hipblaslt_version rocm_6_0{0, 6};
constexpr hipblaslt_version rocm_6_3{0, 10};
constexpr hipblaslt_version rocm_7_0{1, 0};

constexpr supported_target supported_targets[] = {
    {"gfx90a", rocm_6_0},  {"gfx942", rocm_6_0},  {"gfx908", rocm_6_3},  {"gfx1100", rocm_6_3},
    {"gfx1101", rocm_6_3}, {"gfx1200", rocm_6_3}, {"gfx1201", rocm_6_3}, {"gfx950", rocm_7_0},
    {"gfx1102", rocm_7_0}, {"gfx1103", rocm_7_0}, {"gfx1150", rocm_7_0}, {"gfx1151", rocm_7_0},
};

std::string text_of(hipblaslt_version version) {
  return "hipBLASLt " + std::to_string(version.major) + "." + std::to_string(version.minor);
}

/// Entries of C where each matrix is padded to the smallest tiles.
constexpr std::int64_t smallest_tile = 16;
constexpr std::int64_t most_entries = std::int64_t{1} << 31;

bool takes_too_many_threads(const gemm_plan_shape& shape) {
  std::int64_t left = most_entries;
  for (const std::int64_t count :
       {(shape.extents[0] + smallest_tile - 1) / smallest_tile * smallest_tile,
        (shape.extents[1] + smallest_tile - 1) / smallest_tile * smallest_tile, shape.extents[3]}) {
    left /= count;
  }
  return left == 0;
}

}  // namespace

std::string why_not_hipblaslt_target(std::string_view target, hipblaslt_version version) {
  const std::string architecture(target.substr(0, target.find(':')));
  const auto* const found = std::ranges::find(supported_targets, architecture, &supported_target::architecture);
  if (found == std::end(supported_targets)) return "hipBLASLt has no kernels for " + architecture;
  if (version < found->since) {
    return text_of(version) + " has no kernels for " + architecture + "; " + text_of(found->since) + " is the first";
  }
  return {};
}

std::string why_not_hipblaslt_shape(const gemm_plan_shape& shape) {
  const std::pair<std::string_view, std::int64_t> integers[] = {{"m", shape.extents[0]},
                                                                {"n", shape.extents[1]},
                                                                {"k", shape.extents[2]},
                                                                {"batch", shape.extents[3]},
                                                                {"the leading dimension of A", shape.leading[0]},
                                                                {"the leading dimension of B", shape.leading[1]},
                                                                {"the leading dimension of C", shape.leading[2]},
                                                                {"the stride of A's batch", shape.batch_strides[0]},
                                                                {"the stride of B's batch", shape.batch_strides[1]},
                                                                {"the stride of C's batch", shape.batch_strides[2]}};
  for (const auto& [name, value] : integers) {
    if (value > INT32_MAX) {
      return std::string(name) + " = " + std::to_string(value) + " exceeds the 32 bits of hipBLASLt's kernels";
    }
  }
  if (takes_too_many_threads(shape)) return "more than 2^31 entries of C may exceed a launch of hipBLASLt's kernels";
  return {};
}

}  // namespace prumo::backend::hip
