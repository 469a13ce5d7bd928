// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of softmax on a device. A row that fits into the registers of a team is read once and written once. Of a
/// longer one, a first kernel finds the maximum and the sum of each segment, a second one joins them, and a third reads
/// the row again and writes it.

#include <prumo/detail/compiler.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>
#include <prumo/softmax.hpp>

namespace prumo::detail {

/// How softmax shares a row out on a device.
template <class T>
struct softmax_device_partition {
  static constexpr int pack_elements = device_pack_elements<T>;
  /// Numbers that a thread holds at most; more would not leave registers for a full multiprocessor.
  static constexpr int most_packs = sizeof(T) == 2 ? 4 : 8;
  static constexpr int usual_threads = 256, most_threads = 1024;
  static constexpr std::int64_t longest_row = std::int64_t{most_threads} * most_packs * pack_elements;
  /// Elements that a team takes of a row that is longer than that.
  static constexpr std::int64_t segment = std::int64_t{usual_threads} * most_packs * pack_elements;

  /// The packs of a thread: as few as keep a row within threads that exchange registers, which need no barrier; the
  /// most where it is longer than that.
  static int packs_for(std::int64_t columns) {
    const std::int64_t packs = (columns + pack_elements - 1) / pack_elements;
    int each = 1;
    while (each < most_packs && std::int64_t{each} * exchange_threads < packs) each *= 2;
    return each;
  }
  static int group_for(std::int64_t columns, int packs) {
    const std::int64_t elements = static_cast<std::int64_t>(packs) * pack_elements;
    return group_threads((columns + elements - 1) / elements, most_threads);
  }
};

/// A thread's share of a stretch of a row, in registers: packs of neighbouring elements where they can be loaded so,
/// else single elements a group's width apart. Beyond the stretch's end it holds -infinity, which adds nothing. Indices
/// are short: a stretch fits into a team's registers, and wide ones would take registers of their own.
template <class T, int Packs, bool InPacks>
struct softmax_share {
  using C = compute_t<T>;
  static constexpr int pack_elements = device_pack_elements<T>;
  C values[Packs * pack_elements];

  KOKKOS_FORCEINLINE_FUNCTION void load_from(const T* source, int count, std::int64_t stride, int lane, int group) {
    constexpr C nothing = -Kokkos::Experimental::infinity_v<C>;
    if constexpr (InPacks) {
      // The stretch's length is a multiple of a pack's.
      const auto* const first = reinterpret_cast<const device_pack<T>*>(source) + lane;
      const int pack_count = count / pack_elements - lane;
      device_pack<T> packs[Packs];
      // All loads before the first use. What is not loaded is set: left alone, it would be what the registers held, and
      // compilers keep registers for that.
      PRUMO_UNROLL
      for (int pack = 0; pack < Packs; ++pack) {
        const int place = pack * group;
        if (place < pack_count) {
          packs[pack] = first[place];
        } else {
          PRUMO_UNROLL
          for (int i = 0; i < pack_elements; ++i) packs[pack].values[i] = static_cast<T>(nothing);
        }
      }
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) {
        values[element] = load(packs[element / pack_elements].values[element % pack_elements]);
      }
    } else {
      T loaded[Packs * pack_elements];
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) {
        int index = element * group + lane;
        PRUMO_COMPUTE_FROM_HERE(index);
        loaded[element] = index < count ? source[index * stride] : static_cast<T>(nothing);
      }
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) values[element] = load(loaded[element]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void store_to(T* target, int count, std::int64_t stride, int lane, int group,
                                            C scale) const {
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
          result.values[i] = static_cast<T>(values[pack * pack_elements + i] * scale);
        }
        first[place] = result;
      }
    } else {
      PRUMO_UNROLL
      for (int element = 0; element < Packs * pack_elements; ++element) {
        int index = element * group + lane;
        PRUMO_COMPUTE_FROM_HERE(index);
        if (index < count) target[index * stride] = static_cast<T>(values[element] * scale);
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

  /// Replaces the values by exp(value - shift) and adds them up, in a tree for each pack.
  KOKKOS_FORCEINLINE_FUNCTION C take_exponentials(C shift) {
    C sums[pack_elements];
    PRUMO_UNROLL
    for (int element = 0; element < Packs * pack_elements; ++element) {
      values[element] = prumo::exp(values[element] - shift);
      const int lane = element % pack_elements;
      sums[lane] = element < pack_elements ? values[element] : sums[lane] + values[element];
    }
    PRUMO_UNROLL
    for (int half = pack_elements / 2; half > 0; half /= 2) {
      PRUMO_UNROLL
      for (int i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
    }
    return sums[0];
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

/// The maximum to subtract; 0 for a row of -infinity, from which nothing else can be subtracted.
template <class C>
KOKKOS_FORCEINLINE_FUNCTION C finite_maximum(C maximum) {
  constexpr C lowest = -Kokkos::Experimental::infinity_v<C>;
  return maximum == lowest ? C(0) : maximum;
}

/// Rows that fit into the registers of a team: read once, written once. Group is the number of threads a row where it
/// is known when this is compiled, else 0: offsets are then part of the instructions instead of in registers.
template <class T, int Packs, bool InPacks, int Threads, int Group = 0>
class softmax_short_rows_kernel {
  using C = compute_t<T>;

 public:
  static constexpr int most_threads = Threads;
  static constexpr int resident_teams = Threads > 256 ? 1 : Packs <= 2 ? 6 : 4;

  softmax_short_rows_kernel(const softmax_problem<T>& problem, int group) : problem_(problem), given_group_(group) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : problem_.rows; }
  std::int64_t blocks_per_team() const { return Threads / group(); }
  int team_threads() const { return Threads; }
  std::size_t scratch_bytes() const { return join_scratch_bytes<C>(Threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const scratch =
        Group > 0 && Group <= exchange_threads ? nullptr : team_scratch_array<C>(member, Threads / exchange_threads);
    const int groups = Threads / group();
    const int lane = member.team_rank() & (group() - 1);
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * groups;
    // All threads of a team go round equally often: they meet at barriers.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * groups; begin < problem_.rows;
         begin += step) {
      const std::int64_t row = begin + member.team_rank() / group();
      const int count = row < problem_.rows ? static_cast<int>(problem_.columns) : 0;
      softmax_share<T, Packs, InPacks> share;
      share.load_from(problem_.source + row * problem_.source_row_stride, count, problem_.source_column_stride, lane,
                      group());
      const C shift = finite_maximum(join_group(member, scratch, group(), share.largest(), join_maxima{}));
      const C total = join_group(member, scratch, group(), share.take_exponentials(shift), join_sums{});
      share.store_to(problem_.target + row * problem_.target_row_stride, count, problem_.target_column_stride, lane,
                     group(), C(1) / total);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION constexpr int group() const { return Group > 0 ? Group : given_group_; }

  softmax_problem<T> problem_;
  int given_group_;
};

/// The maximum and the sum of exponentials of a stretch.
template <class C>
struct softmax_statistics {
  C shift;
  C total;
};

template <class C>
KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> value_across(const softmax_statistics<C>& value, int distance) {
  return {value_across(value.shift, distance), value_across(value.total, distance)};
}

/// Joins the statistics of two stretches: the sum under the lower maximum is scaled to the higher one.
struct join_statistics {
  template <class C>
  KOKKOS_FORCEINLINE_FUNCTION softmax_statistics<C> operator()(const softmax_statistics<C>& a,
                                                               const softmax_statistics<C>& b) const {
    // A stretch of -infinity has a sum of 0 and no maximum of its own.
    if (a.total == C(0)) return b;
    if (b.total == C(0)) return a;
    const C shift = prumo::maximum(a.shift, b.shift);
    return {shift, a.total * prumo::exp(a.shift - shift) + b.total * prumo::exp(b.shift - shift)};
  }
};

/// partial[r * segments + s] = the statistics of segment s of row r.
template <class T, bool InPacks>
class softmax_statistics_kernel {
  using C = compute_t<T>;
  using partition = softmax_device_partition<T>;

 public:
  static constexpr int most_threads = partition::usual_threads;
  static constexpr int resident_teams = 4;

  softmax_statistics_kernel(const softmax_problem<T>& problem, softmax_statistics<C>* partial)
      : problem_(problem),
        segments_((problem.columns + partition::segment - 1) / partition::segment),
        partial_(partial) {}

  std::int64_t blocks() const { return problem_.rows * segments_; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return join_scratch_bytes<C>(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const scratch = team_scratch_array<C>(member, most_threads / exchange_threads);
    const int lane = member.team_rank();
    for (std::int64_t block = member.league_rank(); block < problem_.rows * segments_; block += member.league_size()) {
      const std::int64_t row = block / segments_;
      const std::int64_t begin = (block - row * segments_) * partition::segment;
      const std::int64_t rest = problem_.columns - begin;
      softmax_share<T, partition::most_packs, InPacks> share;
      share.load_from(problem_.source + row * problem_.source_row_stride + begin * problem_.source_column_stride,
                      static_cast<int>(rest < partition::segment ? rest : partition::segment),
                      problem_.source_column_stride, lane, most_threads);
      const C shift = finite_maximum(join_group(member, scratch, most_threads, share.largest(), join_maxima{}));
      const C total = join_group(member, scratch, most_threads, share.take_exponentials(shift), join_sums{});
      if (lane == 0) partial_[block] = {shift, total};
    }
  }

 private:
  softmax_problem<T> problem_;
  std::int64_t segments_;
  softmax_statistics<C>* partial_;
};

/// result[r] = the statistics of row r, from those of its segments.
template <class C>
struct softmax_join_kernel {
  static constexpr int most_threads = 256;
  static constexpr int resident_teams = 1;

  const softmax_statistics<C>* partial;
  std::int64_t rows;
  std::int64_t segments;
  softmax_statistics<C>* result;

  std::int64_t blocks() const { return rows; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return join_scratch_bytes<softmax_statistics<C>>(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto* const scratch = team_scratch_array<softmax_statistics<C>>(member, most_threads / exchange_threads);
    for (std::int64_t row = member.league_rank(); row < rows; row += member.league_size()) {
      softmax_statistics<C> own{C(0), C(0)};
      for (std::int64_t segment = member.team_rank(); segment < segments; segment += most_threads) {
        own = join_statistics{}(own, partial[row * segments + segment]);
      }
      own = join_group(member, scratch, most_threads, own, join_statistics{});
      if (member.team_rank() == 0) result[row] = own;
    }
  }
};

/// Writes long rows, whose statistics are known.
template <class T, bool InPacks>
class softmax_write_kernel {
  using C = compute_t<T>;
  using partition = softmax_device_partition<T>;
  static constexpr int elements_per_block = InPacks ? device_pack_elements<T> : 1;

 public:
  softmax_write_kernel(const softmax_problem<T>& problem, const softmax_statistics<C>* statistics)
      : problem_(problem),
        blocks_per_row_((problem.columns + elements_per_block - 1) / elements_per_block),
        statistics_(statistics) {}

  std::int64_t blocks() const { return problem_.rows * blocks_per_row_; }

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::int64_t row = block / blocks_per_row_;
    const std::int64_t column = (block - row * blocks_per_row_) * elements_per_block;
    const softmax_statistics<C> of_row = statistics_[row];
    const C scale = C(1) / of_row.total;
    const T* const source = problem_.source + row * problem_.source_row_stride + column * problem_.source_column_stride;
    T* const target = problem_.target + row * problem_.target_row_stride + column * problem_.target_column_stride;
    if constexpr (InPacks) {
      device_pack<T> pack = *reinterpret_cast<const device_pack<T>*>(source);
      PRUMO_UNROLL
      for (int i = 0; i < elements_per_block; ++i) {
        pack.values[i] = static_cast<T>(prumo::exp(load(pack.values[i]) - of_row.shift) * scale);
      }
      *reinterpret_cast<device_pack<T>*>(target) = pack;
    } else {
      *target = static_cast<T>(prumo::exp(load(*source) - of_row.shift) * scale);
    }
  }

 private:
  softmax_problem<T> problem_;
  std::int64_t blocks_per_row_;
  const softmax_statistics<C>* statistics_;
};

}  // namespace prumo::detail
