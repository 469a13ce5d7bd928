// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Reductions on the host with many partial results (lanes), which the compiler keeps in vector registers. So they are
/// bound by memory, and not by the latency of one addition.

#include <prumo/counted.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// The number of partial results of compute type C. It is the same on every machine, and so are results and counts.
template <class C>
inline constexpr int reduction_lanes = sizeof(plain_scalar_t<C>) == 8 ? 32 : 64;

/// How many neighbouring lanes take elements together where there is no whole block of them. Vectors are up to twice as
/// wide.
constexpr std::int64_t lane_group(std::int64_t lanes) { return lanes / 8; }

/// How often reduce_lanes() combines results: those of all lanes, and that of the last few elements.
constexpr std::int64_t lane_combinations(std::int64_t count, std::int64_t lanes) {
  return count % lane_group(lanes) == 0 ? lanes - 1 : lanes;
}

/// Divides a long run of elements into places, and reads a step of each in turn: calls read(place, index). A processor
/// prefetches each place by itself, so more loads are in flight. Returns how many elements it has read: 0 of a short
/// run.
///
/// On an Emerald Rapids, two threads that added up memory took 10 % less time with eight places, and 30 % less if the
/// numbers had 16 bits. Four places gained less, but also of shorter runs, unless these had 16 bits. 16 places of
/// 16-bit numbers lost. From the caches, all took the same time.
template <class Element, class Read>
[[gnu::always_inline]] inline std::int64_t read_in_streams(std::int64_t count, std::int64_t step, const Read& read) {
  const auto read_with = [&]<int Streams>(std::integral_constant<int, Streams>) PRUMO_ALWAYS_INLINE {
    constexpr std::int64_t shortest = 256 * Streams;
    const std::int64_t length = count / (Streams * step) * step;
    if (length < shortest) return std::int64_t{0};
    for (std::int64_t index = 0; index < length; index += step) {
      PRUMO_UNROLL
      for (int stream = 0; stream < Streams; ++stream) read(stream, stream * length + index);
    }
    return Streams * length;
  };
  const std::int64_t done = read_with(std::integral_constant<int, 8>{});
  if constexpr (sizeof(Element) >= 4) {
    if (done == 0) return read_with(std::integral_constant<int, 4>{});
  }
  return done;
}

/// The elements from an address on.
template <class Element>
struct neighbours {
  const Element* first;
  Element operator()(std::int64_t index) const { return first[index]; }
  simd<Element> vector(std::int64_t index) const
    requires std::is_floating_point_v<Element>
  {
    return simd<Element>::load(first + index);
  }
};

/// Neighbouring 16-bit numbers as the floats that sums are made of.
template <class T>
struct widened_numbers {
  const T* first;
  float operator()(std::int64_t index) const { return static_cast<float>(first[index]); }
  simd<float> vector(std::int64_t index) const { return load_vector(first + index); }
};

/// Loads elements of long rows, and with AVX-512 prefetches those that lie 2 KiB behind them. On an Emerald Rapids, two
/// threads took 2 to 15 % less time for a loop of sums over memory or over the last-level cache, in a few runs. The
/// longest rows are read in several places at once, but for 16-bit numbers on a Zen with AVX-512: a Zen 5 took a fifth
/// less time for 2 to 40 MB of them in their order, from memory and from the last-level cache.
template <class Load>
struct loads_from_far : Load {
  static constexpr bool reads_halves_in_order = compiled_for_zen && simd_bytes >= 64;
  static constexpr bool reads_streams = !reads_halves_in_order || sizeof(*Load::first) != 2;
  void prefetch_ahead([[maybe_unused]] std::int64_t index, [[maybe_unused]] int elements) const {
    if constexpr (simd_bytes >= 64) {
      prefetch_from_far(this->first + index, static_cast<std::size_t>(elements) * sizeof(*this->first));
    }
  }
};

/// Whether elements are loaded and joined a vector at a time.
template <class C, class Join, class Load>
concept joins_vectors = std::is_floating_point_v<C> && requires(const Join& join, const Load& load, simd<C> lanes) {
  { load.vector(std::int64_t{}) } -> std::same_as<simd<C>>;
  { join(lanes, lanes) } -> std::same_as<simd<C>>;
};

/// What all lanes of a vector amount to: the upper half is joined with the lower one, until one lane is left.
template <class C, class Join, int Half = simd<C>::lanes / 2>
[[gnu::always_inline]] inline C joined_lanes(simd<C> values, const Join& join) {
  if constexpr (Half == 0) {
    return values.value()[0];
  } else {
    using word = typename math_constants<C>::word;
    const auto upper = [&]<std::size_t... At>(std::index_sequence<At...>) PRUMO_ALWAYS_INLINE {
      const auto bits = bits_of(values);
      return from_bits(shuffle<word>(bits, bits, std::index_sequence<((At + Half) % simd<C>::lanes)...>()));
    }(std::make_index_sequence<static_cast<std::size_t>(simd<C>::lanes)>());
    return joined_lanes<C, Join, Half / 2>(join(values, upper), join);
  }
}

/// What each lane of several vectors amounts to, and all lanes of all vectors.
template <class C, std::size_t Vectors, class Join>
[[gnu::always_inline]] inline simd<C> joined_vectors(simd<C> (&values)[Vectors], const Join& join) {
  static_assert((Vectors & (Vectors - 1)) == 0);
  PRUMO_UNROLL
  for (std::size_t half = Vectors / 2; half > 0; half /= 2) {
    for (std::size_t which = 0; which < half; ++which) values[which] = join(values[which], values[which + half]);
  }
  return values[0];
}
template <class C, std::size_t Vectors, class Join>
[[gnu::always_inline]] inline C joined_lanes(simd<C> (&values)[Vectors], const Join& join) {
  return joined_lanes(joined_vectors(values, join), join);
}

/// The lanes of `values` from number `first` on, and those of `others` before it.
template <class C>
[[gnu::always_inline]] inline simd<C> select_lanes_from(std::int64_t first, simd<C> values, simd<C> others) {
  C numbers[simd<C>::lanes];
  for (int lane = 0; lane < simd<C>::lanes; ++lane) numbers[lane] = static_cast<C>(lane);
  return prumo::select(simd<C>::load(numbers) < simd<C>(static_cast<C>(first)), others, values);
}

/// Joins `Count` neighbouring elements from `index` on with as many lanes from lane `First` on.
template <int First, int Count, class C, std::size_t Lanes, class Join, class Load>
[[gnu::always_inline]] inline void join_lanes(C (&lane)[Lanes], std::int64_t index, const Join& join,
                                              const Load& load) {
  // Unrolled, so that the lanes stay in registers.
  PRUMO_UNROLL
  for (int which = 0; which < Count; ++which) lane[First + which] = join(lane[First + which], load(index + which));
}

/// Joins whole blocks of elements with the lanes, and whole groups of those behind them. Returns how many elements
/// these are.
template <class C, std::size_t Lanes, class Join, class Load>
[[gnu::always_inline]] inline std::int64_t join_blocks(C (&lane)[Lanes], std::int64_t count, const Join& join,
                                                       const Load& load) {
  constexpr auto lanes = static_cast<int>(Lanes);
  constexpr auto group = static_cast<int>(lane_group(lanes));
  std::int64_t index = 0;
  for (; index + lanes <= count; index += lanes) join_lanes<0, lanes>(lane, index, join, load);
  [&]<std::size_t... Which>(std::index_sequence<Which...>) {
    const auto join_group = [&]<int First>(std::integral_constant<int, First>) {
      if (index + First + group <= count) join_lanes<First, group>(lane, index + First, join, load);
    };
    (join_group(std::integral_constant<int, static_cast<int>(Which) * group>{}), ...);
  }(std::make_index_sequence<lanes / group>());
  return count / group * group;
}

/// The same with the lanes in registers. Compilers do not find the vectors of so large a block by themselves in every
/// case. The last few elements lie in a vector that overlaps the one before it, if there are enough for a vector.
template <class C, std::size_t Vectors, class Join, class Load>
[[gnu::always_inline]] inline std::int64_t join_blocks(simd<C> (&held)[Vectors], std::int64_t count, const Join& join,
                                                       const Load& load) {
  constexpr int group = simd<C>::lanes;
  constexpr int lanes = static_cast<int>(Vectors) * group;
  std::int64_t index = 0;
  if constexpr (requires { requires Load::reads_streams; }) {
    // A place's elements go to a quarter of the lanes, whatever the width of vectors is.
    constexpr int quarters = 4, vectors = lanes / quarters / group;
    using element = std::remove_cvref_t<decltype(*load.first)>;
    index = read_in_streams<element>(count, lanes / quarters, [&](int place, std::int64_t at) PRUMO_ALWAYS_INLINE {
      PRUMO_UNROLL
      for (int which = 0; which < vectors; ++which) {
        simd<C>& to = held[place % quarters * vectors + which];
        to = join(to, load.vector(at + which * group));
      }
    });
  }
  for (; index + lanes <= count; index += lanes) {
    if constexpr (requires { load.prefetch_ahead(index, lanes); }) load.prefetch_ahead(index, lanes);
    PRUMO_UNROLL
    for (int which = 0; which < lanes / group; ++which) {
      held[which] = join(held[which], load.vector(index + which * group));
    }
  }
  PRUMO_UNROLL
  for (int which = 0; which < lanes / group; ++which, index += group) {
    if (index + group <= count) {
      held[which] = join(held[which], load.vector(index));
    } else {
      if (index == count) return count;
      if (count < group) return 0;
      const simd<C> joined = join(held[which], load.vector(count - group));
      held[which] = select_lanes_from(index + group - count, joined, held[which]);
      return count;
    }
  }
  return count;
}

/// Joins initial and the elements load(0) ... load(count - 1) in an order that follows from their number, and for the
/// last few from the width of vectors. Of every whole block of elements, each goes to another lane; so do whole groups
/// of those behind the blocks. The last few are joined one after the other, and come to the result of the tree in which
/// the lanes are combined; in vectors they go to other lanes, like a group. The depth is count / lanes + log2(lanes) +
/// 1, or that of the last few. A load that has `vector(index)` gives the elements of a vector at once.
template <class C, class Join, class Combine, class Load>
inline C reduce_lanes(std::int64_t count, C initial, const Join& join, const Combine& combine, const Load& load) {
  constexpr int lanes = reduction_lanes<C>;
  const auto with_rest = [&](std::int64_t joined, C combined) {
    if (joined == count) return combined;
    C rest = initial;
    for (std::int64_t index = joined; index < count; ++index) rest = join(rest, load(index));
    return combine(combined, rest);
  };
  if constexpr (joins_vectors<C, Join, Load> && joins_vectors<C, Combine, Load>) {
    simd<C> held[lanes / simd<C>::lanes];
    PRUMO_UNROLL
    for (auto& each : held) each = simd<C>(initial);
    const std::int64_t joined = join_blocks(held, count, join, load);
    return with_rest(joined, joined_lanes(held, combine));
  } else {
    C lane[lanes];
    for (auto& each : lane) each = initial;
    const std::int64_t joined = join_blocks(lane, count, join, load);
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int which = 0; which < half; ++which) lane[which] = combine(lane[which], lane[which + half]);
    }
    return with_rest(joined, lane[0]);
  }
}

/// The same for lanes that are combined by `join`, like elements.
template <class C, class Join, class Load>
inline C reduce_lanes(std::int64_t count, C initial, const Join& join, const Load& load) {
  return reduce_lanes(count, initial, join, join, load);
}

/// join() of a sum.
struct add_values {
  template <class C>
  C operator()(C a, C b) const {
    return a + b;
  }
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
