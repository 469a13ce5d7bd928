// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction_counts.hpp"

#include "host/reduction_host_axes.hpp"
#include "problem/reduction_policy.hpp"

#include <algorithm>
#include <vector>

namespace prumo::cases {
namespace {

using prumo::reduction;

/// The operations of one segment, whose elements are there, and then of all partial results.
template <class Policy>
class row_counter {
  using counting = typename Policy::stored;
  using row_problem = prumo::detail::row_reduction_problem<counting, counting>;
  using axes_problem = prumo::detail::axes_reduction_problem<Policy>;

 public:
  row_counter(const Policy& policy, counted_kernels kernels) : policy_(policy), kernels_(kernels) {}

  /// The result itself is made where `partial` is null.
  void count_segment(const counting* values, std::int64_t count, counting* partial) {
    using namespace prumo::detail;
    const row_problem row{values, 1, count, count, 1, &result_, 1};
    if (kernels_ == counted_kernels::of_axes) {
      axes_reduction_kernel<Policy>(policy_, axes_of(values, count), partial)(0);
    } else if (partial == nullptr) {
      row_reduction_kernel<Policy>(policy_, row)(0);
    } else {
      segment_reduction_kernel<Policy>(policy_, row, partial)(0);
    }
  }

  void count_partial(const counting* partial, std::int64_t segments, std::int64_t count) {
    using namespace prumo::detail;
    if (kernels_ == counted_kernels::of_axes) {
      axes_partial_kernel<Policy>{policy_, axes_of(nullptr, count), partial, segments}(0);
    } else {
      partial_reduction_kernel<Policy>{policy_, partial, 1, 0, segments, 1, count, &result_, 1}(0);
    }
  }

 private:
  axes_problem axes_of(const counting* values, std::int64_t count) {
    axes_problem problem{values, {}, {}, &result_};
    problem.reduced.rank = 1;
    problem.reduced.extents[0] = count;
    problem.reduced.strides[0][0] = 1;
    return problem;
  }

  Policy policy_;
  counted_kernels kernels_;
  counting result_;
};

template <class Policy>
void count_row(const Policy& policy, counted_kernels kernels, const specification& choice, const case_row& row) {
  using counting = typename Policy::stored;
  const input_values inputs(choice);
  const auto [segments, length] = prumo::detail::reduction_segments::of(row.count);
  std::vector<double> numbers;
  std::vector<counting> values, partial(static_cast<std::size_t>(segments));
  row_counter<Policy> counter(policy, kernels);
  for (std::int64_t segment = 0; segment < segments; ++segment) {
    const std::int64_t count = std::min(length, row.count - segment * length);
    numbers.resize(static_cast<std::size_t>(count));
    row.read(inputs, segment * length, numbers);
    values.assign(numbers.begin(), numbers.end());
    counter.count_segment(values.data(), count, segments == 1 ? nullptr : partial.data() + segment);
  }
  if (segments > 1) counter.count_partial(partial.data(), segments, row.count);
}

template <class T>
void count_row_of(reduction kind, counted_kernels kernels, const specification& choice, const case_row& row) {
  using counting = counted<T>;
  using prumo::detail::policy_of;
  switch (kind) {
    case reduction::sum: return count_row(policy_of<reduction::sum, counting>(), kernels, choice, row);
    case reduction::mean: return count_row(policy_of<reduction::mean, counting>(), kernels, choice, row);
    case reduction::max: return count_row(policy_of<reduction::max, counting>(), kernels, choice, row);
    case reduction::min: return count_row(policy_of<reduction::min, counting>(), kernels, choice, row);
    case reduction::sum_of_squares:
      return count_row(policy_of<reduction::sum_of_squares, counting>(), kernels, choice, row);
    case reduction::argmax:
    case reduction::argmin: return;
  }
}

/// What is done with this many elements of a segment.
struct operations {
  std::uint64_t joins = 0;
  std::uint64_t combinations = 0;

  operations(std::int64_t count, std::int64_t lanes, bool idempotent) : joins(static_cast<std::uint64_t>(count)) {
    using prumo::detail::short_rows;
    if (count < short_rows::chained) return;
    const bool in_few_lanes = count < 4 * lanes;
    combinations =
        static_cast<std::uint64_t>(in_few_lanes ? short_rows::lanes : prumo::detail::lane_combinations(count, lanes));
    if (!in_few_lanes || !idempotent) return;
    // Lanes that are full to the end, with the last elements once more, and no remainder.
    joins = static_cast<std::uint64_t>(count / short_rows::lanes + 1) * short_rows::lanes;
    --combinations;
  }

  /// What is gathered, some elements at a time, before it is joined.
  static operations of_gathered(std::int64_t count, std::int64_t lanes, bool idempotent) {
    constexpr std::int64_t at_once = prumo::detail::gathered_at_once;
    const auto whole = static_cast<std::uint64_t>(count / at_once);
    const operations each(at_once, lanes, idempotent);
    operations result(count % at_once, lanes, idempotent);
    result.joins += whole * each.joins;
    result.combinations += whole * (each.combinations + 1) + 1;
    return result;
  }
};

}  // namespace

flop_counts count_reduction_kernel(reduction kind, counted_kernels kernels, const specification& choice,
                                   const case_row& row) {
  flop_counts counts;
  const counting_scope scope(counts);
  if (choice.type == dtype::f64) {
    count_row_of<double>(kind, kernels, choice, row);
  } else {
    count_row_of<float>(kind, kernels, choice, row);
  }
  return counts;
}

flop_counts reduction_counts(reduction kind, counted_kernels kernels, dtype type, std::int64_t count) {
  const std::int64_t lanes =
      type == dtype::f64 ? prumo::detail::reduction_lanes<double> : prumo::detail::reduction_lanes<float>;
  const auto [segments, segment] = prumo::detail::reduction_segments::of(count);
  const bool idempotent = kind == reduction::max || kind == reduction::min;
  const auto operations_of = [&](std::int64_t length) {
    return kernels == counted_kernels::of_axes ? operations::of_gathered(length, lanes, idempotent)
                                               : operations(length, lanes, idempotent);
  };
  const operations whole = operations_of(segment);
  const operations last = operations_of(count - (segments - 1) * segment);
  const auto whole_segments = static_cast<std::uint64_t>(segments - 1);
  const std::uint64_t joins = whole_segments * whole.joins + last.joins;
  std::uint64_t combinations = whole_segments * whole.combinations + last.combinations;
  if (segments > 1) {
    combinations += static_cast<std::uint64_t>(segments);
    if (segments >= prumo::detail::short_rows::chained) {
      combinations += static_cast<std::uint64_t>(prumo::detail::lane_combinations(segments, lanes));
    }
  }
  flop_counts counts;
  switch (kind) {
    case reduction::max:
    case reduction::min: counts[flop_kind::minmax] = joins + combinations; break;
    case reduction::mean: counts[flop_kind::div] = 1; [[fallthrough]];
    case reduction::sum: counts[flop_kind::add] = joins + combinations; break;
    case reduction::sum_of_squares:
      counts[flop_kind::fma] = joins;
      counts[flop_kind::add] = combinations;
      break;
    case reduction::argmax:
    case reduction::argmin: break;
  }
  return counts;
}

}  // namespace prumo::cases
