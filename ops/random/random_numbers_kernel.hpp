// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of random_uniform and random_normal: a stretch of the generator's blocks an iteration.

#include "philox_blocks.hpp"
#include "random_formulas.hpp"
#include "random_problem.hpp"
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <algorithm>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Where the values of a block go: the first and the last one may be asked for in part.
template <class T>
class random_target {
 public:
  using C = compute_t<T>;
  static constexpr int per_block = random::values_per_block<T>;

  explicit random_target(const random_problem<T>& problem)
      : data_(problem.target.template as<T>()),
        rank_(problem.target.rank),
        count_(problem.target.size()),
        skipped_(static_cast<std::int64_t>(problem.position.offset % per_block)) {
    std::int64_t stride = 1;
    for (int dimension = rank_ - 1; dimension >= 0; --dimension) {
      extents_[dimension] = problem.target.extents[dimension];
      strides_[dimension] = problem.target.strides[dimension];
      if (extents_[dimension] != 1 && strides_[dimension] != stride) in_order_ = false;
      stride *= extents_[dimension];
    }
    packs_ =
        in_order_ && skipped_ == 0 && reinterpret_cast<std::uintptr_t>(data_) % sizeof(device_pack<T, per_block>) == 0;
  }

  /// Blocks of the generator that have a value in the array.
  KOKKOS_FUNCTION std::int64_t blocks() const {
    return count_ == 0 ? 0 : (count_ + skipped_ + per_block - 1) / per_block;
  }

  /// Where `count` blocks' values lie one behind the other, or null.
  T* in_order(std::int64_t block, std::int64_t count) const {
    const std::int64_t begin = block * per_block - skipped_;
    return in_order_ && begin >= 0 && begin + count * per_block <= count_ ? data_ + begin : nullptr;
  }

  /// The number of blocks at the beginning that can be stored whole.
  std::int64_t whole_blocks() const { return packs_ ? count_ / per_block : 0; }

  /// Stores a block that can be stored whole.
  KOKKOS_FORCEINLINE_FUNCTION void store_whole(std::int64_t block, const C* values) const {
    device_pack<T, per_block> pack;
    PRUMO_UNROLL
    for (int lane = 0; lane < per_block; ++lane) pack.values[lane] = static_cast<T>(values[lane]);
    *reinterpret_cast<device_pack<T, per_block>*>(data_ + block * per_block) = pack;
  }

  /// Stores those of a block's values that are asked for.
  KOKKOS_FORCEINLINE_FUNCTION void store(std::int64_t block, const C* values) const {
    const std::int64_t begin = block * per_block - skipped_;
    PRUMO_UNROLL
    for (int lane = 0; lane < per_block; ++lane) {
      const std::int64_t index = begin + lane;
      if (index >= 0 && index < count_) data_[offset_of(index)] = static_cast<T>(values[lane]);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset_of(std::int64_t index) const {
    if (in_order_) return index;
    std::int64_t offset = 0;
    for (int dimension = rank_ - 1; dimension >= 0; --dimension) {
      const std::int64_t rest = index / extents_[dimension];
      offset += (index - rest * extents_[dimension]) * strides_[dimension];
      index = rest;
    }
    return offset;
  }

  T* data_;
  int rank_;
  std::int64_t extents_[max_rank];
  std::int64_t strides_[max_rank];
  std::int64_t count_;
  std::int64_t skipped_;
  bool in_order_ = true;
  bool packs_;
};

/// On a device: some blocks an iteration, of which neighbouring threads have neighbouring ones. Formula is one of
/// random_formulas.hpp.
template <class T, class Formula>
class random_device_kernel {
  /// They share the schedule of the generator's keys. More blocks would take registers from other threads.
  static constexpr int blocks_at_once = 4;

 public:
  /// The largest: for smaller blocks nvcc takes up to 58 registers, and otherwise 44 to 52.
  using launch_bounds = Kokkos::LaunchBounds<>;

  random_device_kernel(const random_problem<T>& problem, const Formula& formula)
      : target_(problem),
        position_(problem.position),
        formula_(formula),
        first_block_(problem.position.offset / random_target<T>::per_block),
        whole_blocks_(target_.whole_blocks()) {}

  KOKKOS_FUNCTION std::int64_t blocks() const { return (target_.blocks() + blocks_at_once - 1) / blocks_at_once; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t step = blocks();
    if (item + (blocks_at_once - 1) * step < whole_blocks_) {
      PRUMO_UNROLL
      for (int which = 0; which < blocks_at_once; ++which) {
        compute_t<T> values[random_target<T>::per_block];
        make(item + which * step, values);
        target_.store_whole(item + which * step, values);
      }
    } else {
      PRUMO_KEEP_LOOP
      for (std::int64_t block = item; block < target_.blocks(); block += step) {
        compute_t<T> values[random_target<T>::per_block];
        make(block, values);
        target_.store(block, values);
      }
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void make(std::int64_t block, compute_t<T>* values) const {
    const std::uint64_t counter = first_block_ + static_cast<std::uint64_t>(block);
    formula_.values(random::philox4x32_10(position_.seed, position_.stream, counter), values);
  }

  random_target<T> target_;
  random_position position_;
  Formula formula_;
  std::uint64_t first_block_;
  std::int64_t whole_blocks_;
};

/// On a host: blocks of the generator as vectors, then the formula as a loop over their words.
template <class T, class Formula>
class random_host_kernel {
  using C = compute_t<T>;
  using word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int per_block = random_target<T>::per_block;
  static constexpr int at_once = 64;
  static constexpr std::int64_t stretch = std::int64_t{16} * at_once;

 public:
  random_host_kernel(const random_problem<T>& problem, const Formula& formula, bool streaming)
      : target_(problem),
        position_(problem.position),
        formula_(formula),
        first_block_(problem.position.offset / per_block),
        streaming_(streaming) {}

  std::int64_t blocks() const { return (target_.blocks() + stretch - 1) / stretch; }

  void operator()(std::int64_t item) const {
    const std::int64_t end = std::min(target_.blocks(), (item + 1) * stretch);
    const philox_blocks generator(position_.seed, position_.stream);
    for (std::int64_t block = item * stretch; block < end; block += at_once) make(generator, block);
    if (streaming_) streaming_fence();
  }

 private:
  static constexpr int numbers = at_once * per_block;

  void make(const philox_blocks& generator, std::int64_t block) const {
    alignas(streaming_unit) word words[numbers];
    const std::uint64_t first = first_block_ + static_cast<std::uint64_t>(block);
    if constexpr (sizeof(T) != 8) {
      generator.template make<at_once>(first, words);
    } else {
      // A word's lower half comes first, as it does in the memory of most machines; the loop is a copy there.
      std::uint32_t parts[4 * at_once];
      generator.template make<at_once>(first, parts);
      for (int i = 0; i < numbers; ++i) {
        const int low = 2 * i;
        words[i] = (static_cast<word>(parts[low + 1]) << 32) | parts[low];
      }
    }
    T* const target = target_.in_order(block, at_once);
    if (target != nullptr && !streaming_) return apply_formula(words, target);
    alignas(streaming_unit) T made[numbers];
    apply_formula(words, made);
    if (target != nullptr) return stream_run(target, made, numbers);
    for (int i = 0; i < at_once; ++i) {
      C of_block[per_block];
      for (int lane = 0; lane < per_block; ++lane) of_block[lane] = static_cast<C>(made[i * per_block + lane]);
      target_.store(block + i, of_block);
    }
  }

  void apply_formula(const word* words, T* target) const {
    const Formula formula = formula_;
    if constexpr (Formula::word_by_word) {
      PRUMO_INDEPENDENT_ITERATIONS
      for (int i = 0; i < numbers; ++i) target[i] = static_cast<T>(formula.value(words[i]));
    } else {
      C values[numbers];
      PRUMO_INDEPENDENT_ITERATIONS
      for (int i = 0; i < numbers; i += 2) formula.pair(words[i], words[i + 1], values[i], values[i + 1]);
      for (int i = 0; i < numbers; ++i) target[i] = static_cast<T>(values[i]);
    }
  }

  random_target<T> target_;
  random_position position_;
  Formula formula_;
  std::uint64_t first_block_;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
