// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the kernels of softmax on a device share: how a row is shared out, and a thread's part of it in registers.

#include "problem/softmax_formula.hpp"
#include "problem/softmax_problem.hpp"
#include <prumo/detail/device_math.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/pack_run.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <Kokkos_MathematicalConstants.hpp>

#include <type_traits>

namespace prumo::detail {

/// How softmax shares a row out on a device.
template <class T>
struct softmax_device_partition {
  static constexpr int pack_elements = device_pack_elements<T>;
  /// Numbers that a thread holds at most; more would not leave registers for a full multiprocessor.
  static constexpr int most_packs = sizeof(T) == 2 ? 4 : 8;
  /// The same beside the running statistics of long rows, which leave fewer registers for exp of double.
  static constexpr int packs_of_segment = sizeof(T) == 8 ? 4 : most_packs;
  static constexpr int usual_threads = 256, most_threads = 1024;
  /// If a tile has many rows: the most numbers of a row that a thread holds, and the length of the longest such row.
  static constexpr int elements_of_tile_row = sizeof(T) == 8 ? 4 : 8;
  static constexpr std::int64_t longest_row_of_tile = std::int64_t{elements_of_tile_row} * exchange_threads;
  static constexpr std::int64_t longest_row = std::int64_t{most_threads} * most_packs * pack_elements;

  /// The packs of a thread: as few as keep a row within some threads that exchange registers, which need no barrier;
  /// the most where it is longer than that.
  static int packs_for(std::int64_t columns, int threads = exchange_threads) {
    const std::int64_t packs = (columns + pack_elements - 1) / pack_elements;
    int each = 1;
    while (each < most_packs && std::int64_t{each} * threads < packs) each *= 2;
    return each;
  }
  static int group_for(std::int64_t columns, int packs) {
    const std::int64_t elements = static_cast<std::int64_t>(packs) * pack_elements;
    return group_threads((columns + elements - 1) / elements, most_threads);
  }
};

/// Whether rows are neighbouring elements, and those of the source begin at the same place of a pack as those of the
/// target: packs that are read can then be written.
template <class T>
bool softmax_have_same_packs(const softmax_problem<T>& problem) {
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
         place_in_pack<T>(problem.source) == place_in_pack<T>(problem.target) &&
         (problem.rows == 1 || (problem.source_row_stride - problem.target_row_stride) % device_pack_elements<T> == 0);
}

/// exp(x - shift), which is at most 1, for numbers of a T. Kept: it becomes a result, and not only a part of a sum.
///
/// 16-bit results do not need the last bits of an exponential, so it is a power of two, for which devices have an
/// instruction. The instruction returns 0 instead of a number below 1.2e-38. A result in bf16 can be such a number, so
/// it is the square of a root.
template <class T, bool Kept, class C>
KOKKOS_FORCEINLINE_FUNCTION C softmax_exponential(C x, C shift) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  if constexpr (std::is_same_v<T, bf16> && Kept) {
    const C root = approximate_exp2_of_negative((shift - x) * (Kokkos::numbers::log2e_v<C> / 2));
    return root * root;
  } else if constexpr (sizeof(T) == 2) {
    return approximate_exp2_of_negative((shift - x) * Kokkos::numbers::log2e_v<C>);
  }
#endif
  return prumo::exp(x - shift);
}

/// What the total of a row is turned into. The reciprocal for 16-bit results is the device's instruction for it.
template <class T, class Formula, class C>
KOKKOS_FORCEINLINE_FUNCTION C softmax_row_factor(C total) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  if constexpr (sizeof(T) == 2 && Formula::keeps_exponentials) return approximate_reciprocal(total);
#endif
  return Formula::row_factor(total);
}

/// What the formula makes of a number of a row of which nothing was kept.
template <class T, class Formula, class C>
KOKKOS_FORCEINLINE_FUNCTION C softmax_result(C x, C shift, C factor) {
  if constexpr (Formula::keeps_exponentials) x = softmax_exponential<T, true>(x, shift);
  return Formula::from_kept(x, shift, factor);
}

/// A thread's share of a stretch of a row, in registers: packs of neighbouring elements where they can be loaded so,
/// else single elements a group's width apart. Beyond the stretch's end it holds -infinity, which adds nothing. Indices
/// are short: a stretch fits into a team's registers, and wide ones would take registers of their own.
template <class T, int Packs, bool InPacks>
struct softmax_share {
  using C = compute_t<T>;
  static constexpr int pack_elements = device_pack_elements<T>;
  C values[Packs * pack_elements];

  KOKKOS_FORCEINLINE_FUNCTION void load_from(const T* source, int count, std::int64_t stride, int lane, int group) {
    constexpr C nothing = softmax_lowest<C>();
    if constexpr (InPacks) {
      // The stretch's length is a multiple of a pack's.
      const auto* const first = reinterpret_cast<const pack_words*>(source) + lane;
      const int pack_count = count / pack_elements - lane;
      device_pack<T> empty;
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) empty.values[i] = static_cast<T>(nothing);
      pack_words packs[Packs];
      // All loads before the first use. What is not loaded is set: left alone, it would be what the registers held, and
      // compilers keep registers for that.
      PRUMO_UNROLL
      for (int pack = 0; pack < Packs; ++pack) {
        const int place = pack * group;
        packs[pack] = place < pack_count ? first[place] : words_of(empty);
      }
      PRUMO_UNROLL
      for (int pack = 0; pack < Packs; ++pack) {
        C of_pack[pack_elements];
        unpack<T>(packs[pack], of_pack);
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) values[pack * pack_elements + i] = of_pack[i];
      }
    } else {
      T loaded[Packs * pack_elements];
      const T* at = source + lane * stride;
      int left = count - lane;
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) {
        loaded[element] = left > 0 ? *at : static_cast<T>(nothing);
        at += group * stride;
        left -= group;
        PRUMO_COMPUTE_FROM_HERE(left);
      }
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) values[element] = load(loaded[element]);
    }
  }

  /// Writes what the formula makes of the values and of what is known of their row.
  KOKKOS_FORCEINLINE_FUNCTION void store_to(T* target, int count, std::int64_t stride, int lane, int group) const {
    if constexpr (InPacks) {
      auto* const first = reinterpret_cast<device_pack<T>*>(target) + lane;
      const int pack_count = count / pack_elements - lane;
      PRUMO_UNROLL
      for (int pack = 0; pack < Packs; ++pack) {
        const int place = pack * group;
        if (place >= pack_count) continue;
        device_pack<T> result;
        PRUMO_UNROLL
        for (int i = 0; i < pack_elements; ++i) {
          result.values[i] = static_cast<T>(values[pack * pack_elements + i]);
        }
        first[place] = result;
      }
    } else {
      T* at = target + lane * stride;
      int left = count - lane;
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) {
        if (left > 0) *at = static_cast<T>(values[element]);
        at += group * stride;
        left -= group;
        PRUMO_COMPUTE_FROM_HERE(left);
      }
    }
  }

  /// The largest value; a NaN among others is passed over, and comes back in the sum.
  KOKKOS_FORCEINLINE_FUNCTION C largest() const {
    C result = values[0];
    PRUMO_UNROLL
    for (int element = 1; element < Packs * pack_elements; ++element) result = Kokkos::fmax(result, values[element]);
    return result;
  }

  /// The sum of exp(value - shift), in a tree for each pack. They take the values' place where they are to be kept.
  template <bool Keep>
  KOKKOS_FORCEINLINE_FUNCTION C sum_exponentials(C shift) {
    C sums[pack_elements];
    PRUMO_UNROLL
    for (int element = 0; element < Packs * pack_elements; ++element) {
      const C exponential = softmax_exponential<T, Keep>(values[element], shift);
      if constexpr (Keep) values[element] = exponential;
      const int lane = element % pack_elements;
      sums[lane] = element < pack_elements ? exponential : sums[lane] + exponential;
    }
    PRUMO_UNROLL
    for (int half = pack_elements / 2; half > 0; half /= 2) {
      PRUMO_UNROLL
      for (int i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
    }
    return sums[0];
  }

  /// Replaces the values, or what was kept of them, by results.
  template <class Formula>
  KOKKOS_FORCEINLINE_FUNCTION void finish_kept(C shift, C factor) {
    PRUMO_UNROLL
    for (int element = 0; element < Packs * pack_elements; ++element) {
      values[element] = Formula::from_kept(values[element], shift, factor);
    }
  }
  template <class Formula>
  KOKKOS_FORCEINLINE_FUNCTION void finish_values(C shift, C factor) {
    PRUMO_UNROLL
    for (int element = 0; element < Packs * pack_elements; ++element) {
      values[element] = softmax_result<T, Formula>(values[element], shift, factor);
    }
  }
};

struct join_maxima {
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION C operator()(C a, C b) const {
    return Kokkos::fmax(a, b);
  }
};
struct join_sums {
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION C operator()(C a, C b) const {
    return a + b;
  }
};

}  // namespace prumo::detail
