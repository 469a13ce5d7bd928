// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels of sum on a device. Rows are cut into segments, a power-of-two group of threads adds up each, and groups
/// of the same kernel add up the partial sums of a row.

#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/loop_nest.hpp>

#include <algorithm>

namespace prumo::detail {

/// How rows are shared out on a device: by their number and length alone.
struct sum_device_partition {
  static constexpr std::int64_t shortest_segment = 2048, longest_segment = 32768;
  /// Segments that keep a large device busy.
  static constexpr std::int64_t wanted_segments = 2048;
  static constexpr int most_threads = 256;
  /// Loads that a thread has under way at a time.
  static constexpr int loads_at_once = 4;

  std::int64_t segment = 1;
  std::int64_t segments = 1;

  static sum_device_partition of(std::int64_t rows, std::int64_t columns) {
    sum_device_partition result;
    result.segment = shortest_segment;
    while (result.segment < longest_segment && result.segment * wanted_segments < rows * columns) result.segment *= 2;
    if (columns <= result.segment) result.segment = std::max<std::int64_t>(columns, 1);
    result.segments = std::max<std::int64_t>(1, (columns + result.segment - 1) / result.segment);
    return result;
  }

  static int group_for(std::int64_t count, int pack_elements) {
    const std::int64_t at_once = std::int64_t{pack_elements} * loads_at_once;
    return group_threads((count + at_once - 1) / at_once, most_threads);
  }

  /// Additions one upon the other, at most, for a group's sum of so many elements.
  static std::int64_t depth(std::int64_t count, int pack_elements) {
    const int group = group_for(count, pack_elements);
    // Whether in packs or one by one, a thread adds four values in a tree and the result to its sums, then what is
    // left.
    const std::int64_t steps = (count + static_cast<std::int64_t>(group) * loads_at_once - 1) /
                               (static_cast<std::int64_t>(group) * loads_at_once);
    std::int64_t tree = 0;
    for (int threads = 1; threads < group; threads *= 2) ++tree;
    for (int lanes = 1; lanes < pack_elements; lanes *= 2) ++tree;
    return std::min(count, steps + 2 + loads_at_once + tree);
  }
};

/// target[(r * segments + s) * target_stride] = the sum of segment s of row r. Rows tells where a row begins.
template <class In, class Out, class Rows>
class sum_device_kernel {
 public:
  static constexpr int most_threads = sum_device_partition::most_threads;
  static constexpr int resident_teams = 6;
  static constexpr int pack_elements = device_pack_elements<In>;

  sum_device_kernel(const In* source, const Rows& row_offsets, std::int64_t rows, std::int64_t columns,
                    std::int64_t column_stride, bool can_load_packs, std::int64_t segment, Out* target,
                    std::int64_t target_stride)
      : source_(source),
        row_offsets_(row_offsets),
        columns_(columns),
        column_stride_(column_stride),
        segment_(segment),
        segments_(std::max<std::int64_t>(1, (columns + segment - 1) / segment)),
        blocks_(rows * segments_),
        target_(target),
        target_stride_(target_stride),
        group_(sum_device_partition::group_for(std::min(segment, columns), pack_elements)),
        packs_(can_load_packs && column_stride == 1 && (segments_ == 1 || segment % pack_elements == 0)) {}

  std::int64_t blocks() const { return blocks_; }
  std::int64_t blocks_per_team() const { return most_threads / group_; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return join_scratch_bytes<C>(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const scratch = team_scratch_array<C>(member, most_threads / exchange_threads);
    const int groups = most_threads / group_;
    const int lane = member.team_rank() & (group_ - 1);
    const std::int64_t step = static_cast<std::int64_t>(member.league_size()) * groups;
    // All threads of a team go round equally often: they meet at barriers.
    for (std::int64_t begin = static_cast<std::int64_t>(member.league_rank()) * groups; begin < blocks_;
         begin += step) {
      const std::int64_t block = begin + member.team_rank() / group_;
      const C own = block < blocks_ ? sum_of_lane(block, lane) : C(0);
      const C total = join_group(member, scratch, group_, own, add{});
      if (block < blocks_ && lane == 0) target_[block * target_stride_] = static_cast<Out>(total);
    }
  }

 private:
  using C = compute_t<In>;

  struct add {
    KOKKOS_FORCEINLINE_FUNCTION C operator()(C a, C b) const { return a + b; }
  };

  KOKKOS_FORCEINLINE_FUNCTION C sum_of_lane(std::int64_t block, int lane) const {
    const std::int64_t row = block / segments_;
    const std::int64_t begin = (block - row * segments_) * segment_;
    const std::int64_t count = columns_ - begin < segment_ ? columns_ - begin : segment_;
    const In* const first = source_ + row_offsets_(row) + begin * column_stride_;
    return packs_ ? sum_packs(first, count, lane) : sum_elements(first, count, lane);
  }

  // NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result): a group has a thousand threads at most
  KOKKOS_FORCEINLINE_FUNCTION C sum_packs(const In* first, std::int64_t count, int lane) const {
    using pack = device_pack<In>;
    const pack* const packs = reinterpret_cast<const pack*>(first);
    const std::int64_t pack_count = count / pack_elements;
    C sums[pack_elements] = {};
    std::int64_t at = lane;
    for (; at + 3 * group_ < pack_count; at += 4 * group_) {
      const pack a = packs[at];
      const pack b = packs[at + group_];
      const pack c = packs[at + 2 * group_];
      const pack d = packs[at + 3 * group_];
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) {
        sums[i] += (load(a.values[i]) + load(b.values[i])) + (load(c.values[i]) + load(d.values[i]));
      }
    }
    for (; at < pack_count; at += group_) {
      const pack a = packs[at];
      PRUMO_UNROLL
      for (int i = 0; i < pack_elements; ++i) sums[i] += load(a.values[i]);
    }
    for (at = pack_count * pack_elements + lane; at < count; at += group_) sums[0] += load(first[at]);
    PRUMO_UNROLL
    for (int half = pack_elements / 2; half > 0; half /= 2) {
      PRUMO_UNROLL
      for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

  KOKKOS_FORCEINLINE_FUNCTION C sum_elements(const In* first, std::int64_t count, int lane) const {
    C sum(0);
    std::int64_t at = lane;
    for (; at + 3 * group_ < count; at += 4 * group_) {
      const C a = load(first[at * column_stride_]);
      const C b = load(first[(at + group_) * column_stride_]);
      const C c = load(first[(at + 2 * group_) * column_stride_]);
      const C d = load(first[(at + 3 * group_) * column_stride_]);
      sum += (a + b) + (c + d);
    }
    for (; at < count; at += group_) sum += load(first[at * column_stride_]);
    return sum;
  }
  // NOLINTEND(bugprone-implicit-widening-of-multiplication-result)

  const In* source_;
  Rows row_offsets_;
  std::int64_t columns_;
  std::int64_t column_stride_;
  std::int64_t segment_;
  std::int64_t segments_;
  std::int64_t blocks_;
  Out* target_;
  std::int64_t target_stride_;
  int group_;
  bool packs_;
};

/// Where rows begin that lie at equal distances.
struct even_rows {
  std::int64_t row_stride;
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t operator()(std::int64_t row) const { return row * row_stride; }
};

/// Where the inner loops of a nest begin.
struct nested_rows {
  loop_nest<1> nest;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t row) const {
    std::int64_t offset = 0;
    for (int dimension = nest.inner() - 1; dimension >= 0; --dimension) {
      offset += row % nest.extents[dimension] * nest.strides[0][dimension];
      row /= nest.extents[dimension];
    }
    return offset;
  }
};

/// Partial sums of rows that lie side by side (column-major), a row's chunk of columns a thread, so that neighbouring
/// threads read neighbouring elements: partial[chunk * rows + row].
template <class T>
struct sum_column_major_device_kernel {
  using C = compute_t<T>;
  static constexpr std::int64_t columns_at_once = 256;

  const T* source;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t column_stride;
  C* partial;

  std::int64_t chunks() const { return (columns + columns_at_once - 1) / columns_at_once; }
  std::int64_t blocks() const { return rows * chunks(); }

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::int64_t chunk = block / rows;
    const std::int64_t row = block - chunk * rows;
    const std::int64_t begin = chunk * columns_at_once;
    const std::int64_t end = begin + columns_at_once < columns ? begin + columns_at_once : columns;
    const T* at = source + row + begin * column_stride;
    C sum(0);
    std::int64_t column = begin;
    for (; column + 3 < end; column += 4, at += 4 * column_stride) {
      sum += (load(at[0]) + load(at[column_stride])) + (load(at[2 * column_stride]) + load(at[3 * column_stride]));
    }
    for (; column < end; ++column, at += column_stride) sum += load(*at);
    partial[block] = sum;
  }
};

}  // namespace prumo::detail
