// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How far a result of softmax or log_softmax may be from the exact one.

#include "host/softmax_side_by_side_kernel.hpp"
#include <prumo/case/rounding.hpp>
#include <prumo/case/specification.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {

/// Bounds for the entries of a row. With u the unit roundoff of the compute type, `spread` the distance of the row's
/// smallest value from its maximum m, and `distance` that of the entry's:
///
/// - x - m is rounded once, which exp turns into a relative error of u |x - m|; exp itself adds 2 u, one unit in the
///   last place. The exponential of 16-bit numbers may be a power of two (softmax_exponential()). The product with
///   log2 e is rounded, and so is log2 e: less than 1.25 u |x - m| together. The power is off by 2 u more, and 5 u more
///   than that if it is the square of a root.
/// - The total S = sum exp(x - m). Its terms carry the same for the spread. Adding up rounds as often as sums lie upon
///   one another: gamma of `additions`. A term that was taken under a lower maximum is scaled to a higher one
///   `rescalings` times, each by the exponential of a difference of maxima, rounded, and a product: 3 u each, and u
///   times the sum of the differences, which grow towards m and so are no more than the spread together.
/// - The quotient is the product with a rounded reciprocal: 2 u. That of 16-bit numbers may be off by u more.
/// - log(S) is off by the relative error of S, and by one unit in the last place of its own, 2 u |log S|. x - m and
///   the last difference round once each: u |x - m| and u |result|.
class softmax_bounds {
 public:
  softmax_bounds(dtype type, array_layout layout, std::int64_t columns, long double spread)
      : u_(unit_roundoff(compute_type(type))), is_power_(dtype_size(type) == 2) {
    const depth most = type == dtype::f64 ? depth_of<double>(layout, columns) : depth_of<float>(layout, columns);
    const long double first_order = relative_of_exponential(spread) + gamma(compute_type(type), most.additions) +
                                    u_ * spread + 3 * u_ * static_cast<long double>(most.rescalings);
    total_ = first_order / (1 - first_order);
  }

  /// Relative to the entry.
  long double relative_of_quotient(long double distance) const {
    const long double first_order = relative_of_exponential(distance) + total_ + (is_power_ ? 3 : 2) * u_;
    return first_order / (1 - first_order);
  }

  long double absolute_of_logarithm(long double distance, long double log_total) const {
    const long double operands = u_ * distance + total_ + 2 * u_ * std::fabs(log_total);
    return operands + u_ * (distance + std::fabs(log_total) + operands);
  }

 private:
  long double relative_of_exponential(long double distance) const {
    return u_ * (distance + 2) + (is_power_ ? u_ * (1.25L * distance + 7) : 0);
  }

  struct depth {
    double additions = 0;
    double rescalings = 0;
  };

  static double whole(std::int64_t count, std::int64_t unit) {
    const std::int64_t units = (count + unit - 1) / unit;
    return static_cast<double>(units);
  }

  /// The largest over the kernels that may run.
  template <class C>
  static depth depth_of(array_layout layout, std::int64_t columns) {
    namespace kernels = prumo::detail;
    constexpr std::int64_t chunk = kernels::softmax_chunk;
    const auto lanes_deep = [](std::int64_t count) { return whole(count, kernels::softmax_lanes<C>) + 5; };

    depth most;
    const auto take = [&](double additions, double rescalings) {
      most.additions = std::max(most.additions, additions);
      most.rescalings = std::max(most.rescalings, rescalings);
    };
    // A device's team: 8 packs in a thread and an element outside of packs, 8 values in a pack, 1024 threads, tiles of
    // 2048 elements or more; then the statistics of up to 2048 segments. Or 16 values in a thread and 32 threads.
    // A team scales twice when it joins what its threads have.
    const double tiles = whole(columns, 2048);
    take(8 + 1 + 3 + 10 + tiles + (2 * 5 + 8), tiles + 4 + 3);
    // A host's row that is taken at once, or chunks within segments, and segments within the row.
    take(lanes_deep(std::min(columns, kernels::softmax_most_in_sum)) + whole(columns, kernels::softmax_most_in_sum), 0);
    const double chunks = whole(std::min(columns, kernels::softmax_segment(columns)), chunk);
    const std::int64_t segments = kernels::softmax_segments(columns);
    take(lanes_deep(std::min(columns, chunk)) + chunks + (segments > 1 ? lanes_deep(segments) : 0), chunks + 1);
    if (layout == array_layout::left || columns < kernels::softmax_counted_vector_row<C>) {
      constexpr std::int64_t at_once = kernels::softmax_columns_at_once<C>;
      const double stretches = whole(columns, at_once);
      take(static_cast<double>(std::min(columns, at_once)) + stretches, stretches);
    }
    return most;
  }

  long double u_;
  bool is_power_;
  long double total_;
};

}  // namespace prumo::cases
