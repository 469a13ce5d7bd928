// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction_counts.hpp"

#include "host/reduction_host_rows.hpp"
#include "problem/reduction_policy.hpp"

#include <algorithm>
#include <vector>

namespace prumo::cases {
namespace {

using prumo::reduction;

template <class Policy>
void count_row(const Policy& policy, const specification& choice, std::int64_t row, std::int64_t columns) {
  using counting = typename Policy::stored;
  using problem_type = prumo::detail::row_reduction_problem<counting, counting>;
  constexpr std::int64_t length = prumo::detail::reduction_segment;
  const input_values inputs(choice);
  std::vector<double> numbers;
  std::vector<counting> values;
  counting result;
  const auto read = [&](std::int64_t begin, std::int64_t count) {
    numbers.resize(static_cast<std::size_t>(count));
    inputs.read(0, row * columns + begin, numbers);
    values.assign(numbers.begin(), numbers.end());
  };
  const std::int64_t segments = prumo::detail::reduction_segments(columns);
  if (segments == 1) {
    read(0, columns);
    const problem_type problem{values.data(), 1, columns, columns, 1, &result, 1};
    prumo::detail::row_reduction_kernel<Policy>(policy, problem)(0);
    return;
  }
  std::vector<counting> partial(static_cast<std::size_t>(segments));
  for (std::int64_t segment = 0; segment < segments; ++segment) {
    const std::int64_t count = std::min(length, columns - segment * length);
    read(segment * length, count);
    const problem_type problem{values.data(), 1, count, count, 1, &result, 1};
    prumo::detail::segment_reduction_kernel<Policy>(policy, problem, partial.data() + segment)(0);
  }
  prumo::detail::partial_reduction_kernel<Policy>{policy, partial.data(), 1, 0, segments, 1, columns, &result, 1}(0);
}

template <class T>
void count_row_of(reduction kind, const specification& choice, std::int64_t row, std::int64_t columns) {
  using counting = counted<T>;
  using prumo::detail::policy_of;
  switch (kind) {
    case reduction::sum: return count_row(policy_of<reduction::sum, counting>(), choice, row, columns);
    case reduction::mean: return count_row(policy_of<reduction::mean, counting>(), choice, row, columns);
    case reduction::max: return count_row(policy_of<reduction::max, counting>(), choice, row, columns);
    case reduction::min: return count_row(policy_of<reduction::min, counting>(), choice, row, columns);
    case reduction::sum_of_squares:
      return count_row(policy_of<reduction::sum_of_squares, counting>(), choice, row, columns);
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
    combinations = static_cast<std::uint64_t>(in_few_lanes ? short_rows::lanes : lanes - 1);
    if (!in_few_lanes || !idempotent) return;
    // Lanes that are full to the end, with the last elements once more, and no remainder.
    joins = static_cast<std::uint64_t>(count / short_rows::lanes + 1) * short_rows::lanes;
    --combinations;
  }
};

}  // namespace

flop_counts count_reduction_kernel(reduction kind, const specification& choice, std::int64_t row,
                                   std::int64_t columns) {
  flop_counts counts;
  const counting_scope scope(counts);
  if (choice.type == dtype::f64) {
    count_row_of<double>(kind, choice, row, columns);
  } else {
    count_row_of<float>(kind, choice, row, columns);
  }
  return counts;
}

flop_counts reduction_counts(reduction kind, dtype type, std::int64_t columns) {
  const std::int64_t lanes =
      type == dtype::f64 ? prumo::detail::reduction_lanes<double> : prumo::detail::reduction_lanes<float>;
  constexpr std::int64_t segment = prumo::detail::reduction_segment;
  const std::int64_t segments = prumo::detail::reduction_segments(columns);
  const bool idempotent = kind == reduction::max || kind == reduction::min;
  const operations whole(segment, lanes, idempotent);
  const operations last(columns % segment, lanes, idempotent);
  const auto whole_segments = static_cast<std::uint64_t>(columns / segment);
  const std::uint64_t joins = whole_segments * whole.joins + last.joins;
  std::uint64_t combinations = whole_segments * whole.combinations + last.combinations;
  if (segments > 1) {
    combinations += static_cast<std::uint64_t>(segments);
    if (segments >= prumo::detail::short_rows::chained) combinations += static_cast<std::uint64_t>(lanes - 1);
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
