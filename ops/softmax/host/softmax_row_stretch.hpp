// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A stretch of a row whose numbers lie one behind the other, on a host. Real numbers are computed in groups of
/// vectors, and numbers that count their operations one by one.

#include "problem/softmax_formula.hpp"
#include "softmax_reductions.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/contiguous_elements.hpp>
#include <prumo/detail/group_conversions.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The larger of two numbers, or the second one if one of them is a NaN. It takes vectors, too.
struct softmax_larger_values {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (is_simd<V>) {
      return greater_or_second(a, b);
    } else {
      return softmax_larger(a, b);
    }
  }
};

/// Asks for memory while exponentials are computed: for elements that will be read next, and for those that will be
/// written, which would be read in a burst otherwise. Either may be null.
template <class T>
struct softmax_prefetch {
  const T* next;
  const T* target;

  /// The same for what comes after `at` elements.
  softmax_prefetch from(std::int64_t at) const {
    return {next == nullptr ? nullptr : next + at, target == nullptr ? nullptr : target + at};
  }

  template <class Count>
  [[gnu::always_inline]] void operator()([[maybe_unused]] std::int64_t at, [[maybe_unused]] Count count) const {
#if defined(__GNUC__)
    constexpr std::int64_t line = 64 / sizeof(T);
    const auto elements = static_cast<std::int64_t>(Count::value);
    if (next != nullptr) {
      PRUMO_UNROLL
      for (std::int64_t beyond = 0; beyond < elements; beyond += line) __builtin_prefetch(next + at + beyond);
    }
    if (target != nullptr) {
      PRUMO_UNROLL
      for (std::int64_t beyond = 0; beyond < elements; beyond += line) __builtin_prefetch(target + at + beyond, 1);
    }
#endif
  }
};

template <class T>
class softmax_row_stretch {
  using C = compute_t<T>;
  static constexpr bool on_vectors = can_compute_vectors && std::is_floating_point_v<C>;
  using real_number = std::conditional_t<on_vectors, C, float>;
  using vector = simd<real_number>;
  using numbers = simd_group<real_number, group_registers>;
  static constexpr int lanes = vector::lanes;
  static constexpr std::int64_t group = group_registers * lanes;

 public:
  /// What is computed in place of the numbers needs room for so many more than there are.
  static constexpr std::int64_t most_added = lanes;

  softmax_row_stretch(const T* first, std::int64_t count) : first_(first), count_(count) {
    if constexpr (on_vectors) {
      if (count >= lanes) return;
      // -infinity changes neither the maximum nor the sum of exponentials.
      std::fill_n(few_, lanes, static_cast<T>(softmax_lowest<C>()));
      std::copy_n(first, count, few_);
      first_ = few_;
      count_ = lanes;
    }
  }
  softmax_row_stretch(const softmax_row_stretch&) = delete;
  softmax_row_stretch& operator=(const softmax_row_stretch&) = delete;

  /// The largest number, or -infinity. A NaN may be passed over: it comes back in the sum.
  C maximum() const {
    if constexpr (on_vectors) {
      return joined_lanes(maxima(), softmax_larger_values{});
    } else {
      return softmax_maximum<C>(count_, [this](std::int64_t i) { return load(first_[i]); });
    }
  }

  /// The sum of the exponentials of the numbers less `shift`. With Keep, these are written to `kept`, which has room
  /// for most_added more. ahead(i, n) is called before n numbers from i on are taken; n is an integral_constant.
  template <bool Keep, class Ahead>
  C sum_of_exponentials(C shift, [[maybe_unused]] C* kept, const Ahead& ahead) const {
    if constexpr (on_vectors) {
      return joined_lanes(sums_of_exponentials<Keep>(shift, kept, ahead), add_values{});
    } else {
      return softmax_sum<C>(count_, [=, this](std::int64_t i) {
        const C exponential = exp_of_nonpositive(load(first_[i]) - shift);
        if constexpr (Keep) kept[i] = exponential;
        return exponential;
      });
    }
  }

  /// The same in each lane of a vector.
  vector maxima() const {
    vector largest[group_registers];
    PRUMO_UNROLL
    for (auto& each : largest) each = vector(softmax_lowest<C>());
    std::int64_t at = 0;
    for (; at + group <= count_; at += group) {
      const auto taken = load_group<fastest_order<T>, group_registers>(first_ + at);
      PRUMO_UNROLL
      for (int r = 0; r < group_registers; ++r) largest[r] = greater_or_second(largest[r], taken.of[r]);
    }
    for (; at < count_; at += lanes) largest[0] = greater_or_second(largest[0], load_vector(first_ + place_of(at)));
    return joined_vectors(largest, softmax_larger_values{});
  }
  template <bool Keep, class Ahead>
  vector sums_of_exponentials(C shift, [[maybe_unused]] C* kept, const Ahead& ahead) const {
    constexpr int sums = softmax_lanes<C> / lanes;
    static_assert(sums >= 1 && (sums % group_registers == 0 || group_registers % sums == 0));
    vector sum[sums];
    PRUMO_UNROLL
    for (auto& each : sum) each = vector(C(0));
    constexpr std::int64_t block = std::max(group, sums * std::int64_t{lanes});
    std::int64_t at = 0;
    for (; at + block <= count_; at += block) {
      PRUMO_UNROLL
      for (int first = 0; first < block / lanes; first += group_registers) {
        const std::int64_t from = at + first * lanes;
        ahead(from, std::integral_constant<std::size_t, static_cast<std::size_t>(group)>());
        const auto exponentials =
            exp_of_nonpositive(load_group<lane_order::memory, group_registers>(first_ + from) - numbers(shift));
        if constexpr (Keep) store_group<lane_order::memory>(exponentials, kept + from);
        PRUMO_UNROLL
        for (int r = 0; r < group_registers; ++r) sum[(first + r) % sums] += exponentials.of[r];
      }
    }
    // Unrolled, so that the sums stay in registers.
    PRUMO_UNROLL
    for (int which = 0; which < block / lanes; ++which, at += lanes) {
      if (at >= count_) break;
      const std::int64_t from = place_of(at);
      ahead(from, std::integral_constant<std::size_t, static_cast<std::size_t>(lanes)>());
      const vector exponentials = exp_of_nonpositive(load_vector(first_ + from) - vector(shift));
      if constexpr (Keep) exponentials.store(kept + from);
      // The last vector may overlap the one before it.
      sum[which % sums] += from == at ? exponentials : select_lanes_from(at - from, exponentials, vector(C(0)));
    }
    return joined_vectors(sum, add_values{});
  }

 private:
  /// Where a vector begins that is to begin at a place, but not to reach beyond the stretch.
  std::int64_t place_of(std::int64_t at) const { return std::min(at, count_ - lanes); }

  const T* first_;
  std::int64_t count_;
  T few_[lanes];
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
