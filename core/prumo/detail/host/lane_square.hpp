// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Transposes squares of words whose rows are a lane of vector units, on a host.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <cstdint>
#include <cstring>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

template <class Word>
struct lane_square {
  static constexpr int side = static_cast<int>(vector_lane / sizeof(Word));

  /// target[c * target_stride + r] = source[r * source_stride + c].
  static void transpose(const Word* source, std::int64_t source_stride, Word* target, std::int64_t target_stride) {
    vector rows[side];
    PRUMO_UNROLL
    for (int r = 0; r < side; ++r) std::memcpy(&rows[r], source + r * source_stride, sizeof(vector));
    transpose_lanes<Word>(rows);
    PRUMO_UNROLL
    for (int c = 0; c < side; ++c) std::memcpy(target + c * target_stride, &rows[c], sizeof(vector));
  }

 private:
  using vector = vector_of<Word, vector_lane>;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
