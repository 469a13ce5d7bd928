// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// From arrays to the kernels of a reduction, for every space and type.

#include "device/reduction_device_axes.hpp"
#include "device/reduction_device_columns.hpp"
#include "device/reduction_device_nest.hpp"
#include "device/reduction_device_rows.hpp"
#include "device/reduction_device_segments.hpp"
#include "device/reduction_device_short_rows.hpp"
#include "host/reduction_host_axes.hpp"
#include "host/reduction_host_columns.hpp"
#include "problem/reduction_policy.hpp"
#include <prumo/context_ref.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/detail/teams/ordered_teams.hpp>
#include <prumo/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace prumo::detail {

/// The names of an operation's kernels.
struct reduction_labels {
  std::string rows, segments, partial, columns, strided, axes;

  explicit reduction_labels(const std::string& operation)
      : rows(operation + "::rows"),
        segments(operation + "::segments"),
        partial(operation + "::partial"),
        columns(operation + "::column_major"),
        strided(operation + "::strided"),
        axes(operation + "::axes") {}
};

/// A policy with the context that it runs in and the names of its kernels.
template <class Exec, class Policy>
class reduction_launcher {
  using stored = typename Policy::stored;
  using result = typename Policy::result;
  using accumulator = typename Policy::accumulator;
  using row_problem = row_reduction_problem<stored, result>;
  using row_policy = std::remove_cvref_t<decltype(row_policy_on_device(std::declval<const Policy&>()))>;

 public:
  reduction_launcher(context<Exec>& ctx, const Policy& policy, const reduction_labels& labels)
      : context_(ctx), policy_(policy), labels_(labels) {}

  void reduce_rows(row_problem problem) {
    if (problem.rows == 0) return;
    if constexpr (is_host_space<Exec>) {
      const auto bytes = static_cast<std::size_t>(problem.rows * problem.columns) * sizeof(stored);
      problem.is_far = exceeds_caches(bytes, context_.working_set());
      if (is_column_major(problem)) {
        reduce_column_major_on_host(problem);
      } else {
        reduce_rows_on_host(problem);
      }
    } else if (problem.columns > longest_row_on_device<row_policy>()) {
      for (std::int64_t row = 0; row < problem.rows; ++row) {
        const stored* const source = problem.source + row * problem.row_stride;
        reduce_nest_on_device(make_reduction_nest<Policy>(row_of(problem)), source,
                              problem.results + row * problem.result_stride);
      }
    } else if (is_column_major(problem)) {
      reduce_column_major_on_device(problem);
    } else {
      reduce_rows_on_device(problem);
    }
  }

  void reduce(const array_ref& whole, result* target) {
    const auto nest = make_reduction_nest<Policy>(whole);
    const stored* const source = whole.as<const stored>();
    if (nest.rank == 1) {
      reduce_rows({source, 1, nest.extents[0], 0, nest.strides[0][0], target, 1, false});
    } else if constexpr (is_host_space<Exec>) {
      axes_problem problem{source, {}, nest, target};
      problem.kept.rank = 0;
      reduce_each_on_host(labels_.strided, problem);
    } else {
      reduce_nest_on_device(nest, source, target);
    }
  }

  /// Each result over the elements of `reduced`; `kept` and `results` have the same extents.
  void reduce_axes(const array_ref& kept, const array_ref& reduced, const array_ref& results) {
    const axes_problem problem{reduced.as<const stored>(), make_loop_nest(kept, results),
                               make_reduction_nest<Policy>(reduced), results.as<result>()};
    const std::int64_t count = problem.kept.size();
    if (count == 0) return;
    if (count == 1) {
      reduce(reduced, problem.results);
    } else if (problem.kept.rank == 1 && problem.reduced.rank == 1) {
      reduce_rows({problem.source, count, problem.reduced.size(), problem.kept.strides[0][0],
                   problem.reduced.strides[0][0], problem.results, problem.kept.strides[1][0], false});
    } else if constexpr (is_host_space<Exec>) {
      reduce_axes_on_host(problem);
    } else {
      reduce_axes_on_device(problem, reduced);
    }
  }

 private:
  using axes_problem = axes_reduction_problem<Policy>;

  /// What it takes a host to join this number of elements, `distance` apart.
  host_work work_of(std::int64_t elements, std::int64_t distance = 1) const {
    constexpr double of_a_position = Policy::indexed ? 0.02 * sizeof(stored) : 0;
    constexpr double of_a_stride = 0.5;
    return host_work::streaming<stored>(elements) +
           host_work::repeated(elements, of_a_position + (distance == 1 ? 0 : of_a_stride)) +
           memory_work(static_cast<std::size_t>(elements) * sizeof(stored), context_.working_set());
  }
  /// The same of results that are combined from partial ones.
  static host_work work_of_partial(std::int64_t results, std::int64_t segments) {
    return host_work::streaming<accumulator>(results * segments) + host_work::repeated(results, 2);
  }

  void reduce_axes_on_host(const axes_problem& problem) {
    if (problem.kept.strides[0][problem.kept.inner()] == 1) {
      const auto shares = neighbours_reduction_kernel<Policy>::shares_of(problem);
      accumulator* const partial = partial_axes_results(problem, shares.segments);
      launch_blocks(context_.instance(), labels_.axes,
                    neighbours_reduction_kernel<Policy>(policy_, problem, shares, partial),
                    work_of(problem.kept.size() * problem.reduced.size()));
      combine_axes_on_host({policy_, problem, partial, shares.segments});
    } else {
      reduce_each_on_host(labels_.axes, problem);
    }
  }

  /// One result after the other, in the order of x.
  void reduce_each_on_host(const std::string& label, const axes_problem& problem) {
    const std::int64_t segments = axes_reduction_kernel<Policy>::segments_of(problem);
    accumulator* const partial = partial_axes_results(problem, segments);
    launch_blocks(context_.instance(), label, axes_reduction_kernel<Policy>(policy_, problem, partial),
                  work_of(problem.kept.size() * problem.reduced.size(),
                          problem.reduced.rank == 0 ? 1 : problem.reduced.strides[0][problem.reduced.inner()]));
    combine_axes_on_host({policy_, problem, partial, segments});
  }

  /// Null where no results are partial.
  accumulator* partial_axes_results(const axes_problem& problem, std::int64_t segments) {
    return segments == 1 ? nullptr : partial_results(problem.kept.size() * segments);
  }

  void combine_axes_on_host(const axes_partial_kernel<Policy>& kernel) {
    if (kernel.partial == nullptr) return;
    launch_blocks(context_.instance(), labels_.partial, kernel,
                  work_of_partial(kernel.problem.kept.size(), kernel.segments));
  }

  void reduce_axes_on_device(const axes_problem& problem, const array_ref& reduced) {
    constexpr std::int64_t most = device_nest<2>::most_elements;
    const std::int64_t count = problem.reduced.size();
    if (count > most) {
      for (std::int64_t which = 0; which < problem.kept.size(); ++which) {
        const auto place = problem.place_of(which);
        array_ref elements = reduced;
        elements.data = const_cast<stored*>(problem.source + place.source);
        reduce(elements, problem.results + place.result);
      }
      return;
    }
    const auto distance = [](const auto& nest) { return std::abs(nest.strides[0][nest.inner()]); };
    const bool are_neighbours = distance(problem.kept) < distance(problem.reduced);
    for_each_part(problem.kept, max_rank, most, [&](const loop_nest<2>& kept, const std::int64_t (&offsets)[2]) {
      const axes_problem part{problem.source + offsets[0], kept, problem.reduced, problem.results + offsets[1]};
      const auto shares = axes_shares::of(kept.size(), count, are_neighbours);
      accumulator* const partial = shares.segments == 1 ? nullptr : partial_results(kept.size() * shares.segments);
      launch_teams(context_.instance(), labels_.axes,
                   axes_reduction_device_kernel<Policy>(policy_, part, shares, partial));
      if (partial == nullptr) return;
      launch_blocks(context_.instance(), labels_.partial,
                    axes_partial_device_kernel<Policy>{policy_, part, partial, kept.size(), shares.segments});
    });
  }

  /// The extents and strides of a row.
  static array_ref row_of(const row_problem& problem) {
    return array_ref(nullptr, dtype_of<stored>(), {problem.columns}, {problem.column_stride});
  }

  template <class Value = accumulator>
  Value* partial_results(std::int64_t count) {
    return static_cast<Value*>(context_.workspace(static_cast<std::size_t>(count) * sizeof(Value)));
  }

  void reduce_rows_on_host(const row_problem& problem) {
    const std::int64_t segments = reduction_segments::of(problem.columns).count;
    const host_work work = work_of(problem.rows * problem.columns, problem.column_stride);
    if (segments == 1) {
      launch_blocks(context_.instance(), labels_.rows, row_reduction_kernel<Policy>(policy_, problem), work);
      return;
    }
    accumulator* const partial = partial_results(problem.rows * segments);
    launch_blocks(context_.instance(), labels_.segments, segment_reduction_kernel<Policy>(policy_, problem, partial),
                  work);
    combine_on_host({policy_, partial, problem.rows, segments, segments, 1, problem.columns, problem.results,
                     problem.result_stride});
  }

  void reduce_column_major_on_host(const row_problem& problem) {
    const auto partition = column_major_partition::of(problem.rows, problem.columns);
    const bool whole = partition.segments == 1;
    accumulator* const partial = whole ? nullptr : partial_results(problem.rows * partition.segments);
    launch_blocks(context_.instance(), labels_.columns,
                  column_major_reduction_kernel<Policy>(policy_, problem, partition, partial),
                  work_of(problem.rows * problem.columns));
    if (whole) return;
    combine_on_host({policy_, partial, problem.rows, 1, partition.segments, problem.rows, problem.columns,
                     problem.results, problem.result_stride});
  }

  void combine_on_host(const partial_reduction_kernel<Policy>& kernel) {
    launch_blocks(context_.instance(), labels_.partial, kernel, work_of_partial(kernel.rows, kernel.segments));
  }

  void reduce_nest_on_device(const reduction_nest<Policy>& nest, const stored* source, result* target) {
    nest_reduction_device_kernel<Policy> kernel(policy_, source, nest, target);
    if (kernel.blocks() > 1) kernel.use(published_words_of(context_));
    launch_ordered_teams(context_, labels_.strided, kernel);
  }

  void reduce_rows_on_device(const row_problem& problem) {
    if constexpr (Policy::indexed) {
      // The only element of a row is number 0, whatever it is. The bits of the integer are those of the double.
      if (problem.columns == 1) {
        const array_ref positions(problem.results, dtype::f64, {problem.rows}, {problem.result_stride},
                                  memory_kind_of<typename Exec::memory_space>());
        return fill(instance_ref(context_), 0.0, positions);
      }
    }
    using short_rows = short_row_reduction_device_kernel<row_policy>;
    if (short_rows::can_take(problem)) {
      return launch_teams(context_.instance(), labels_.rows, short_rows(row_policy_on_device(policy_), problem));
    }
    const auto segments = reduction_segments_on_device::of(problem.rows, problem.columns, sizeof(stored));
    if (segments.count == 1) {
      launch_rows(problem);
    } else if (segment_reduction_device_kernel<row_policy, true>::is_array(problem)) {
      launch_segments<true>(problem, segments);
    } else {
      launch_segments<false>(problem, segments);
    }
  }

  void launch_rows(const row_problem& problem) {
    const int threads = row_group<stored>(problem.rows, problem.columns);
    const auto launch = [&](const auto& group) {
      launch_teams(context_.instance(), labels_.rows,
                   row_reduction_device_kernel<row_policy, std::decay_t<decltype(group)>>(row_policy_on_device(policy_),
                                                                                          problem, group));
    };
    if (threads == exchange_threads) {
      launch(group_of<exchange_threads>());
    } else if (threads == exchange_threads / 2) {
      launch(group_of<exchange_threads / 2>());
    } else {
      launch(any_group::of(threads));
    }
  }

  template <bool IsArray>
  void launch_segments(const row_problem& problem, const reduction_segments_on_device& segments) {
    launch_ordered_teams(context_, labels_.segments,
                         segment_reduction_device_kernel<row_policy, IsArray>(row_policy_on_device(policy_), problem,
                                                                              segments, published_words_of(context_)));
  }

  void reduce_column_major_on_device(const row_problem& problem) {
    using partial = typename row_policy::accumulator;
    const row_tiles tiles = reduction_row_tiles(problem.rows, problem.columns);
    partial* values = nullptr;
    unsigned* counters = nullptr;
    if (tiles.chunks > 1) {
      values = partial_results<partial>(problem.rows * tiles.chunks);
      counters = arrival_counters_of(context_);
    }
    launch_teams(
        context_.instance(), labels_.columns,
        column_major_device_kernel<row_policy>(row_policy_on_device(policy_), problem, tiles, values, counters));
  }

  context<Exec>& context_;
  Policy policy_;
  const reduction_labels& labels_;
};

constexpr const char* name_of(reduction kind) {
  constexpr const char* names[] = {"sum", "sum_of_squares", "mean", "max", "min", "argmax", "argmin"};
  return names[static_cast<std::size_t>(kind)];
}

template <reduction Kind, class T, class Exec>
auto make_launcher(context<Exec>& ctx) {
  static const reduction_labels labels(std::string("prumo::") + name_of(Kind));
  return reduction_launcher<Exec, decltype(policy_of<Kind, T>())>(ctx, policy_of<Kind, T>(), labels);
}

}  // namespace prumo::detail
