// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/reduction_device_team.hpp"
#include "host/reduction_host_columns.hpp"
#include <prumo/reduction.hpp>

#include <algorithm>

namespace prumo {
namespace {

std::int64_t share(std::int64_t count, std::int64_t among) { return (count + among - 1) / among; }

/// Levels of a tree.
std::int64_t levels(std::int64_t leaves) {
  std::int64_t found = 0;
  for (std::int64_t reached = 1; reached < leaves; reached *= 2) ++found;
  return found;
}

/// A group of threads on a device: what a thread adds to each of its accumulators, what lies before the first pack and
/// behind the last, the accumulators' tree and the threads'.
template <class T>
std::int64_t group_depth(std::int64_t count) {
  using tuning = detail::reduction_tuning;
  constexpr std::int64_t pack = detail::device_pack_elements<T>;
  const std::int64_t group = std::max(1, detail::device_group<T>(count) / 2);  // of rows; see row_group()
  const std::int64_t side_by_side = std::min<std::int64_t>(pack, tuning::wide_loads_at_once);
  return share(count, group * side_by_side) + 2 * pack + tuning::loads_at_once + levels(pack) + levels(group);
}

/// An array on a device, whole or a row: its segments and then their sums. If it has many short loops: the loops of a
/// thread.
template <class T>
std::int64_t device_depth(std::int64_t count) {
  const std::int64_t threads = detail::reduction_tuning::team_threads;
  const std::int64_t segment = detail::device_segment(count, sizeof(T));
  const std::int64_t segments = share(count, segment);
  return group_depth<T>(std::min(count, segment)) + share(segment, threads) + levels(threads) +
         share(segments, threads) + levels(threads);
}

template <class C>
std::int64_t host_depth(std::int64_t count) {
  constexpr std::int64_t lanes = detail::reduction_lanes<C>;
  using detail::short_rows;
  const auto depth_of = [&](std::int64_t terms, bool few_lanes) {
    if (terms < short_rows::chained) return terms;
    const std::int64_t in_few = share(terms, short_rows::lanes) + levels(short_rows::lanes) + 1;
    const std::int64_t last_few = 2 * detail::lane_group(lanes);
    const std::int64_t in_all = std::max(share(terms, lanes) + levels(lanes), last_few) + 1;
    return few_lanes ? std::max(in_few, std::int64_t{short_rows::lanes}) : in_all;
  };
  const auto segments = detail::reduction_segments::of(count);
  return depth_of(std::min(count, segments.length), count < short_rows::longest<C>) +
         (segments.count > 1 ? depth_of(segments.count, false) : 0);
}

/// Both spaces add up this many columns before they join the others; then come chunks of columns.
std::int64_t column_major_depth(std::int64_t count) {
  using tuning = detail::reduction_tuning;
  constexpr std::int64_t at_once = detail::column_major_partition::columns_at_once;
  const std::int64_t chunks = std::min(tuning::column_major_teams, share(count, tuning::shortest_column_chunk));
  return std::min(count, at_once) + share(count, at_once) + chunks + 2 * levels(tuning::team_threads);
}

}  // namespace

std::int64_t sum_depth(std::int64_t count, std::size_t compute_bytes, bool column_major) {
  if (column_major) return column_major_depth(count);
  if (compute_bytes == sizeof(double)) return std::max(host_depth<double>(count), device_depth<double>(count));
  return std::max({host_depth<float>(count), device_depth<float>(count), device_depth<f16>(count)});
}

std::int64_t reduce_depth(std::int64_t count, std::size_t compute_bytes) {
  // A few partial results of a host's segment, a device's segments, and the tree of the threads of one of those.
  const std::int64_t of_segments = std::min<std::int64_t>(128, share(count, 32)) + levels(256);
  return std::max(sum_depth(count, compute_bytes), sum_depth(count, compute_bytes, true)) + of_segments;
}

}  // namespace prumo
