// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a window should give, for the cases of pooling and of convolutions that end with it.

#include "pooling_problem.hpp"
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace prumo::cases {

/// The exact value of a window, and the error bound of a computed one, from the values and bounds of its elements.
class window_reference {
 public:
  void add(long double value, long double bound = 0) {
    largest_ = std::max(largest_, value);
    largest_bound_ = std::max(largest_bound_, bound);
    sum_ += value;
    bounds_ += bound;
    magnitudes_ += std::fabs(value) + bound;
    ++elements_;
  }

  /// A maximum is exact, in any order, and off by the largest error of an element at most. A mean of k elements has the
  /// mean of their errors, and k roundings: k - 1 of the sum, and one of the quotient (Higham, section 4.2).
  std::pair<long double, long double> result(prumo::detail::pooling_kind kind, dtype type) const {
    if (kind == prumo::detail::pooling_kind::maximum) return {largest_, largest_bound_};
    const auto elements = static_cast<long double>(elements_);
    const long double growth = gamma(compute_type(type), static_cast<double>(elements_));
    return {sum_ / elements, (bounds_ + growth * magnitudes_) / elements};
  }

 private:
  long double largest_ = -std::numeric_limits<long double>::infinity();
  long double largest_bound_ = 0;
  long double sum_ = 0;
  long double bounds_ = 0;
  long double magnitudes_ = 0;
  std::int64_t elements_ = 0;
};

}  // namespace prumo::cases
