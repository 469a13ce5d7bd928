// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a group of threads of a device reduces a stretch of memory.

#include "reduction_device_maxima.hpp"
#include "reduction_device_team.hpp"

#include <cstdint>
#include <limits>

namespace prumo::detail {

template <class Policy>
KOKKOS_FORCEINLINE_FUNCTION typename Policy::accumulator join_at(const Policy& policy,
                                                                 typename Policy::accumulator found,
                                                                 typename Policy::element value,
                                                                 [[maybe_unused]] std::int64_t position) {
  if constexpr (Policy::indexed) {
    return policy.join(found, value, position);
  } else {
    return policy.join(found, value);
  }
}

/// A thread's share of `count` elements, which `group` threads reduce together; thread `lane` of them asks. The first
/// element's position is `position`, the next one's `step` further.
///
/// Threads: int, or group_of<>::size.
template <class Policy, class Threads>
class share_of_stretch {
 public:
  using stored = typename Policy::stored;
  using accumulator = typename Policy::accumulator;
  using pack = device_pack<stored>;

  KOKKOS_FORCEINLINE_FUNCTION share_of_stretch(const Policy& policy, int lane, Threads group, std::int64_t position,
                                               std::int64_t step)
      : policy_(policy), lane_(lane), group_(group), position_(position), step_(step) {
    PRUMO_UNROLL
    for (int i = 0; i < accumulators; ++i) found_[i] = policy.identity();
  }

  KOKKOS_FORCEINLINE_FUNCTION accumulator reduce(const stored* first, std::int64_t count, std::int64_t stride) {
    if (stride == 1) {
      take_neighbours(first, count);
    } else {
      take_elements(first, count, stride);
    }
    return combined();
  }

  /// The same of packs, and `rest` elements behind them.
  KOKKOS_FORCEINLINE_FUNCTION accumulator reduce_packs(const pack* first, std::int64_t packs, int rest) {
    const stored* const elements = reinterpret_cast<const stored*>(first);
    const std::int64_t behind = packs * pack_elements + lane_;
    stored last{};
    if (lane_ < rest) last = elements[behind];
    take_packs(elements, 0, packs);
    if (lane_ < rest) take(0, last, behind);
    return combined();
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION accumulator combined() {
    PRUMO_UNROLL
    for (int half = accumulators / 2; half > 0; half /= 2) {
      PRUMO_UNROLL
      for (int i = 0; i < half; ++i) found_[i] = policy_.combine(found_[i], found_[i + half]);
    }
    return found_[0];
  }

  static constexpr int pack_elements = device_pack_elements<stored>;
  static constexpr int accumulators = Policy::indexed ? 1 : pack_elements;
  static constexpr bool is_wide = sizeof(stored) == 2;
  static constexpr int loads = is_wide ? reduction_tuning::wide_loads_at_once : reduction_tuning::loads_at_once;

  /// The value is a copy: of a reference to the device's memory, nvcc would load each byte by itself.
  KOKKOS_FORCEINLINE_FUNCTION void take(int which, stored value, std::int64_t index) {
    accumulator& found = found_[which % accumulators];
    found = join_at(policy_, found, policy_.lift(value), position_ + index * step_);
  }

  /// In packs from the first address that one can be loaded from. What lies before and behind them is loaded first, and
  /// taken when the packs have come: otherwise, a thread would wait three times for memory.
  KOKKOS_FORCEINLINE_FUNCTION void take_neighbours(const stored* first, std::int64_t count) {
    const int beyond = static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % sizeof(pack) / sizeof(stored));
    int head = beyond == 0 ? 0 : pack_elements - beyond;
    if (count < head) head = static_cast<int>(count);
    const std::int64_t pack_count = (count - head) / pack_elements;
    const std::int64_t behind = head + pack_count * pack_elements;
    const int rest = static_cast<int>(count - behind);
    const bool has_lane_for_each = group_ >= pack_elements;
    stored before_packs{}, behind_packs{};
    if (has_lane_for_each) {
      if (lane_ < head) before_packs = first[lane_];
      if (lane_ < rest) behind_packs = first[behind + lane_];
    } else {
      take_one_by_one(first, 0, head);
    }
    take_packs(first, head, pack_count);
    if (has_lane_for_each) {
      if (lane_ < head) take(0, before_packs, lane_);
      if (lane_ < rest) take(0, behind_packs, behind + lane_);
    } else {
      take_one_by_one(first, behind, rest);
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void take_one_by_one(const stored* first, std::int64_t begin, int count) {
    PRUMO_KEEP_LOOP
    for (int at = lane_; at < count; at += group_) take(0, first[begin + at], begin + at);
  }

  /// Pointers go along instead of indices: 64-bit indices would take the registers that loads under way want.
  KOKKOS_FORCEINLINE_FUNCTION void take_packs(const stored* first, int head, std::int64_t pack_count) {
    const pack* const begin = reinterpret_cast<const pack*>(first + head);
    const pack* const end = begin + pack_count;
    const pack* at = begin + lane_;
    [[maybe_unused]] best_pack best{at};
    [[maybe_unused]] device_maxima<Policy> maxima(policy_);
    const auto take_at = [&](const pack& loaded, const pack* place) {
      if constexpr (Policy::indexed) {
        best.take(policy_, loaded, place);
      } else if constexpr (device_maxima<Policy>::exist) {
        maxima.take(loaded);
      } else {
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) take(i, loaded.values[i], 0);
      }
    };
    PRUMO_KEEP_LOOP
    for (; end - at > (loads - 1) * group_; at += loads * group_) {
      pack loaded[loads];
      PRUMO_UNROLL
      for (int load = 0; load < loads; ++load) loaded[load] = at[load * group_];
      PRUMO_UNROLL
      for (int load = 0; load < loads; ++load) take_at(loaded[load], at + load * group_);
    }
    if (at < end) {
      // Fewer packs than are loaded at a time; all loads before the first use all the same. The first pack is there:
      // reading it again costs nothing and leaves nothing undefined.
      pack loaded[loads - 1];
      PRUMO_UNROLL
      for (int load = 0; load < loads - 1; ++load) loaded[load] = end - at > load * group_ ? at[load * group_] : *at;
      PRUMO_UNROLL
      for (int load = 0; load < loads - 1; ++load) {
        if (end - at > load * group_) take_at(loaded[load], at + load * group_);
      }
    }
    if constexpr (device_maxima<Policy>::exist) {
      if (begin + lane_ < end) take_maxima(maxima, begin, end);
    }
    if constexpr (Policy::indexed) {
      if (begin + lane_ < end) {
        const std::int64_t index = head + (best.place - begin) * pack_elements + best.lane_in(policy_);
        found_[0] = policy_.join(found_[0], best.largest, position_ + index * step_);
      }
    }
  }

  /// Of NaN, the instruction that compares numbers keeps neither sign nor payload, so keys find the largest one.
  KOKKOS_FORCEINLINE_FUNCTION void take_maxima(const device_maxima<Policy>& maxima, const pack* begin,
                                               const pack* end) {
    stored largest[device_maxima<Policy>::count];
    if (maxima.are_numbers(largest)) {
      PRUMO_UNROLL
      for (int i = 0; i < device_maxima<Policy>::count; ++i) take(i, largest[i], 0);
      return;
    }
    PRUMO_KEEP_LOOP
    for (const pack* at = begin + lane_; at < end; at += group_) {
      const pack loaded = *at;
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) take(i, loaded.values[i], 0);
    }
  }

  /// The first pack of those seen that has the largest element. Which element it is can wait until all have been seen:
  /// to keep positions up to date would take longer than to find the largest.
  struct best_pack {
    using element = typename Policy::element;
    static constexpr element lowest = std::numeric_limits<element>::lowest();

    const pack* place;
    element largest = lowest;

    KOKKOS_FORCEINLINE_FUNCTION void take(const Policy& policy, const pack& loaded, const pack* where) {
      auto here = policy.lift(loaded.values[0]);
      PRUMO_UNROLL
      for (int i = 1; i < pack_elements; ++i) {
        const auto key = policy.lift(loaded.values[i]);
        here = key > here ? key : here;
      }
      if (here > largest) {
        largest = here;
        place = where;
      }
    }

    KOKKOS_FORCEINLINE_FUNCTION int lane_in(const Policy& policy) const {
      int lane = 0;
      PRUMO_UNROLL
      for (int i = pack_elements - 1; i >= 0; --i) {
        if (policy.lift(place->values[i]) == largest) lane = i;
      }
      return lane;
    }
  };

  KOKKOS_FORCEINLINE_FUNCTION void take_elements(const stored* first, std::int64_t count, std::int64_t stride) {
    const std::int64_t step = stride * group_;
    const stored* place = first + lane_ * stride;
    std::int64_t at = lane_;
    PRUMO_KEEP_LOOP
    for (; count - at > (loads - 1) * group_; at += loads * group_, place += loads * step) {
      stored loaded[loads];
      PRUMO_UNROLL
      for (int load = 0; load < loads; ++load) loaded[load] = place[load * step];
      PRUMO_UNROLL
      for (int load = 0; load < loads; ++load) take(load, loaded[load], at + load * group_);
    }
    PRUMO_KEEP_LOOP
    for (; at < count; at += group_, place += step) take(0, *place, at);
  }

  const Policy& policy_;
  int lane_;
  Threads group_;
  std::int64_t position_;
  std::int64_t step_;
  accumulator found_[accumulators];
};

}  // namespace prumo::detail
