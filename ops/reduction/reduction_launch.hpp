// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// For the sources of reductions: from a problem to kernels, and the instantiations of both functions for every space
/// and type. A source names kinds that share kernels.

#include "reduction_device_columns.hpp"
#include "reduction_device_nest.hpp"
#include "reduction_device_rows.hpp"
#include "reduction_device_segments.hpp"
#include "reduction_host_layouts.hpp"
#include "reduction_policies.hpp"
#include <prumo/detail/elementwise_kernel.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace prumo::detail {

/// The names of an operation's kernels.
struct reduction_labels {
  std::string rows, segments, partial, columns, strided;

  explicit reduction_labels(const std::string& operation)
      : rows(operation + "::rows"),
        segments(operation + "::segments"),
        partial(operation + "::partial"),
        columns(operation + "::column_major"),
        strided(operation + "::strided") {}
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

  void reduce_rows(const row_problem& problem) {
    if (problem.rows == 0) return;
    if constexpr (is_host_space<Exec>) {
      if (is_column_major(problem)) {
        reduce_column_major_on_host(problem);
      } else {
        reduce_rows_on_host(problem);
      }
    } else if (problem.columns > longest_row_on_device<row_policy>()) {
      for (std::int64_t row = 0; row < problem.rows; ++row) {
        const array<const stored> source{
            problem.source + row * problem.row_stride, 1, {problem.columns}, {problem.column_stride}};
        reduce_nest_on_device(make_reduction_nest<Policy>(source), source.data,
                              problem.results + row * problem.result_stride);
      }
    } else if (is_column_major(problem)) {
      reduce_column_major_on_device(problem);
    } else {
      reduce_rows_on_device(problem);
    }
  }

  void reduce(const array<const stored>& source, result* target) {
    const auto nest = make_reduction_nest<Policy>(source);
    if (nest.rank == 1) {
      reduce_rows({source.data, 1, nest.extents[0], 0, nest.strides[0][0], target, 1});
    } else if constexpr (is_host_space<Exec>) {
      const auto count = nest_reduction_kernel<Policy>(policy_, source.data, nest, nullptr).blocks();
      accumulator* const partial = partial_results(count);
      launch_blocks(context_.instance(), labels_.strided,
                    nest_reduction_kernel<Policy>(policy_, source.data, nest, partial));
      combine_on_host({policy_, partial, 1, 0, count, 1, nest.size(), target, 1});
    } else {
      reduce_nest_on_device(nest, source.data, target);
    }
  }

 private:
  template <class Value = accumulator>
  Value* partial_results(std::int64_t count) {
    return static_cast<Value*>(context_.workspace(static_cast<std::size_t>(count) * sizeof(Value)));
  }

  void reduce_rows_on_host(const row_problem& problem) {
    const std::int64_t segments = reduction_segments(problem.columns);
    if (segments == 1) {
      launch_blocks(context_.instance(), labels_.rows, row_reduction_kernel<Policy>(policy_, problem));
      return;
    }
    accumulator* const partial = partial_results(problem.rows * segments);
    launch_blocks(context_.instance(), labels_.segments, segment_reduction_kernel<Policy>(policy_, problem, partial));
    combine_on_host({policy_, partial, problem.rows, segments, segments, 1, problem.columns, problem.results,
                     problem.result_stride});
  }

  void reduce_column_major_on_host(const row_problem& problem) {
    const auto partition = column_major_partition::of(problem.rows, problem.columns);
    const bool whole = partition.segments == 1;
    accumulator* const partial = whole ? nullptr : partial_results(problem.rows * partition.segments);
    launch_blocks(context_.instance(), labels_.columns,
                  column_major_reduction_kernel<Policy>(policy_, problem, partition, partial));
    if (whole) return;
    combine_on_host({policy_, partial, problem.rows, 1, partition.segments, problem.rows, problem.columns,
                     problem.results, problem.result_stride});
  }

  void combine_on_host(const partial_reduction_kernel<Policy>& kernel) {
    launch_blocks(context_.instance(), labels_.partial, kernel);
  }

  void reduce_nest_on_device(const reduction_nest<Policy>& nest, const stored* source, result* target) {
    nest_reduction_device_kernel<Policy> kernel(policy_, source, nest, target);
    if (kernel.blocks() > 1) kernel.use(published_words_of(context_));
    launch_teams(context_.instance(), labels_.strided, kernel);
  }

  void reduce_rows_on_device(const row_problem& problem) {
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
    launch_teams(context_.instance(), labels_.segments,
                 segment_reduction_device_kernel<row_policy, IsArray>(row_policy_on_device(policy_), problem, segments,
                                                                      published_words_of(context_)));
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

template <reduction Kind, class Exec, class T>
void launch_row_reduction(context<Exec>& ctx, const row_reduction_problem<T, reduced_t<Kind, T>>& problem) {
  make_launcher<Kind, T>(ctx).reduce_rows(problem);
}

template <reduction Kind, class Exec, class T>
void launch_reduction(context<Exec>& ctx, const array<const T>& source, reduced_t<Kind, T>* result) {
  make_launcher<Kind, T>(ctx).reduce(source, result);
}

}  // namespace prumo::detail

#define PRUMO_INSTANTIATE_REDUCTION_FOR(Space, Kind, T)                                                               \
  template void prumo::detail::launch_row_reduction<Kind, Space, T>(                                                  \
      prumo::context<Space>&, const prumo::detail::row_reduction_problem<T, prumo::detail::reduced_t<Kind, T>>&);     \
  template void prumo::detail::launch_reduction<Kind, Space, T>(prumo::context<Space>&, const prumo::array<const T>&, \
                                                                prumo::detail::reduced_t<Kind, T>*);
#define PRUMO_INSTANTIATE_REDUCTION(Space, Kind)           \
  PRUMO_INSTANTIATE_REDUCTION_FOR(Space, Kind, float)      \
  PRUMO_INSTANTIATE_REDUCTION_FOR(Space, Kind, double)     \
  PRUMO_INSTANTIATE_REDUCTION_FOR(Space, Kind, prumo::f16) \
  PRUMO_INSTANTIATE_REDUCTION_FOR(Space, Kind, prumo::bf16)
