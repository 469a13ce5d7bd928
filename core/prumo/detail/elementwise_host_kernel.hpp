// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The element-wise kernel of arrays that each lie in memory without gaps, on a host.

#include <prumo/detail/contiguous_elements.hpp>
#include <prumo/detail/elementwise_arrays.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/detail/streaming_store.hpp>

#include <algorithm>
#include <cstdint>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// A block of elements an iteration.
template <class Formula, class Out, class... In>
class contiguous_host_kernel {
 public:
  using outputs = output_pointers<Out>;

  /// `workers` threads will share the blocks; `streaming` writes past the caches where outputs are aligned alike.
  contiguous_host_kernel(const Formula& formula, const outputs& to, const input_pointers<In...>& inputs,
                         std::int64_t count, std::int64_t workers, bool streaming)
      : elements_(formula, to, inputs),
        count_(count),
        block_elements_(elements_of_block(count + elements_.shift(), workers)),
        streaming_(streaming && elements_.can_stream()) {}

  /// The number of blocks.
  std::int64_t blocks() const { return divide_up(count_ + elements_.shift(), block_elements_); }

  /// Blocks end where the output crosses cache lines, so that no line is shared and streamed stores are aligned.
  void operator()(std::int64_t block) const {
    const std::int64_t begin = std::max<std::int64_t>(0, block * block_elements_ - elements_.shift());
    const std::int64_t end = std::min(count_, (block + 1) * block_elements_ - elements_.shift());
    if (streaming_) {
      elements_.write_streaming(begin, end);
      streaming_fence();
    } else {
      elements_.write_cached(begin, end);
    }
  }

 private:
  /// Every worker has the same number of blocks, and these are equally long: with three blocks for two workers, one of
  /// them would wait for the other. A worker has several blocks if they are not too short. No block is very long, so
  /// that a worker which is held up holds up the others for a short time only. But every block of streamed stores ends
  /// in a fence that waits for memory.
  static std::int64_t elements_of_block(std::int64_t count, std::int64_t workers) {
    constexpr std::int64_t shortest = 4096, longest = 16 * shortest, most_blocks_of_worker = 16, whole_lines = 128;
    const std::int64_t blocks_of_worker =
        std::max(std::clamp<std::int64_t>(count / (workers * shortest), 1, most_blocks_of_worker),
                 divide_up(count, workers * longest));
    // Of no elements there are no blocks, but each has a length.
    return round_up(divide_up(std::max<std::int64_t>(count, 1), workers * blocks_of_worker), whole_lines);
  }

  contiguous_elements<Formula, Out, In...> elements_;
  std::int64_t count_;
  std::int64_t block_elements_;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
