// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of random_uniform and random_normal: a stretch of the generator's blocks an iteration.

#include "random_formulas.hpp"
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/random_numbers.hpp>

#include <algorithm>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Where the values of a block go: the first and the last one may be asked for in part.
template <class T>
class random_target {
 public:
  using C = compute_t<T>;
  static constexpr int per_block = random::values_per_block<T>;

  explicit random_target(const random_problem<T>& problem)
      : target_(problem.target),
        count_(problem.target.size()),
        skipped_(static_cast<std::int64_t>(problem.position.offset % per_block)) {
    std::int64_t stride = 1;
    for (int dimension = target_.rank - 1; dimension >= 0; --dimension) {
      if (target_.extents[dimension] != 1 && target_.strides[dimension] != stride) in_order_ = false;
      stride *= target_.extents[dimension];
    }
    packs_ = in_order_ && skipped_ == 0 &&
             reinterpret_cast<std::uintptr_t>(target_.data) % sizeof(device_pack<T, per_block>) == 0;
  }

  /// Blocks of the generator that have a value in the array.
  KOKKOS_FUNCTION std::int64_t blocks() const {
    return count_ == 0 ? 0 : (count_ + skipped_ + per_block - 1) / per_block;
  }

  /// Where `count` blocks' values lie one behind the other, or null.
  T* in_order(std::int64_t block, std::int64_t count) const {
    const std::int64_t begin = block * per_block - skipped_;
    return in_order_ && begin >= 0 && begin + count * per_block <= count_ ? target_.data + begin : nullptr;
  }

  /// So many blocks, from the first on, can be stored whole.
  std::int64_t whole_blocks() const { return packs_ ? count_ / per_block : 0; }

  /// Stores a block that can be stored whole.
  KOKKOS_FORCEINLINE_FUNCTION void store_whole(std::int64_t block, const C* values) const {
    device_pack<T, per_block> pack;
    PRUMO_UNROLL
    for (int lane = 0; lane < per_block; ++lane) pack.values[lane] = static_cast<T>(values[lane]);
    *reinterpret_cast<device_pack<T, per_block>*>(target_.data + block * per_block) = pack;
  }

  /// Stores those of a block's values that are asked for.
  KOKKOS_FORCEINLINE_FUNCTION void store(std::int64_t block, const C* values) const {
    const std::int64_t begin = block * per_block - skipped_;
    PRUMO_UNROLL
    for (int lane = 0; lane < per_block; ++lane) {
      const std::int64_t index = begin + lane;
      if (index >= 0 && index < count_) target_.data[offset_of(index)] = static_cast<T>(values[lane]);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset_of(std::int64_t index) const {
    if (in_order_) return index;
    std::int64_t offset = 0;
    for (int dimension = target_.rank - 1; dimension >= 0; --dimension) {
      const std::int64_t rest = index / target_.extents[dimension];
      offset += (index - rest * target_.extents[dimension]) * target_.strides[dimension];
      index = rest;
    }
    return offset;
  }

  array<T> target_;
  std::int64_t count_;
  std::int64_t skipped_;
  bool in_order_ = true;
  bool packs_;
};

/// On a device: some blocks an iteration, of which neighbouring threads have neighbouring ones. Formula is one of
/// random_formulas.hpp.
template <class T, class Formula>
class random_device_kernel {
  /// As many as share the schedule of the generator's keys without taking registers from other threads.
  static constexpr int blocks_at_once = 4;

 public:
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

/// On a host: every step of the generator and of the formula is a loop over blocks, for whole vectors.
template <class T, class Formula>
class random_host_kernel {
  using C = compute_t<T>;
  static constexpr int per_block = random_target<T>::per_block;
  static constexpr int side_by_side = 64;
  static constexpr std::int64_t stretch = 16 * side_by_side;

 public:
  random_host_kernel(const random_problem<T>& problem, const Formula& formula)
      : target_(problem),
        position_(problem.position),
        formula_(formula),
        first_block_(problem.position.offset / per_block) {}

  std::int64_t blocks() const { return (target_.blocks() + stretch - 1) / stretch; }

  void operator()(std::int64_t item) const {
    const std::int64_t end = std::min(target_.blocks(), (item + 1) * stretch);
    for (std::int64_t block = item * stretch; block < end; block += side_by_side) make(block);
  }

 private:
  void make(std::int64_t block) const {
    constexpr int n = side_by_side;
    std::uint32_t words[4][n];
    random::philox4x32_10_side_by_side<n>(position_.seed, position_.stream,
                                          first_block_ + static_cast<std::uint64_t>(block), words);
    C values[n * per_block];
    const Formula formula = formula_;
    PRUMO_INDEPENDENT_ITERATIONS
    for (int i = 0; i < n; ++i) {
      C of_block[per_block];
      formula.values(random::philox_block{{words[0][i], words[1][i], words[2][i], words[3][i]}}, of_block);
      for (int lane = 0; lane < per_block; ++lane) values[i * per_block + lane] = of_block[lane];
    }
    if (T* const target = target_.in_order(block, n)) {
      for (int i = 0; i < n * per_block; ++i) target[i] = static_cast<T>(values[i]);
      return;
    }
    for (int i = 0; i < n; ++i) target_.store(block + i, values + i * per_block);
  }

  random_target<T> target_;
  random_position position_;
  Formula formula_;
  std::uint64_t first_block_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
