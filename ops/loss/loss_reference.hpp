// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a row of scores and its label should give, and how far off a result may be.

#include "loss_device_kernel.hpp"
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace prumo::cases {

using prumo::detail::loss_kind;

/// A value and the most that it may be off.
struct bounded {
  long double value = 0;
  long double bound = 0;
};

/// A row as it should be. With u the unit roundoff of the compute type:
///
/// - exp is within two units in the last place, 4 u, and log within one, 2 u.
/// - Sums of the classes add no more numbers upon each other than `additions`: a host adds vectors of 64 bytes and then
///   their lanes, a device the numbers of a thread and then the threads of a group.
/// - Softmax: x - max is rounded, which exp turns into a relative error of u |x - max|. On a device a thread scales
/// what
///   it has added when a larger number comes, once for each of its rounds at most: each time an exponential of a
///   rounded difference, and a product. These differences together are no more than the spread of the row.
///   The gradient multiplies by the rounded inverse of the sum and by the scale.
/// - Sigmoid: 1 + e is rounded, u, and has the error of e. Its inverse and the product round. The logarithm has the
///   error of e, 4 u of it at most, that of log, and a rounding; the maximum adds without an error and rounds.
/// - Squared error: y - t, the product and its half, which is exact; the gradient has y - t and the scale.
class exact_row {
 public:
  exact_row(loss_kind kind, dtype type, std::span<const double> scores, std::int64_t label, double scale)
      : kind_(kind),
        type_(compute_type(type)),
        u_(unit_roundoff(type_)),
        scores_(scores),
        label_(static_cast<std::size_t>(label)),
        scale_(as_computed(type, scale)) {
    const auto classes = static_cast<std::int64_t>(scores.size());
    const std::int64_t lanes = type_ == dtype::f64 ? 8 : 16;
    const std::int64_t group = prumo::detail::loss_group_threads(classes);
    rounds_ = static_cast<long double>((classes + group * 4 - 1) / (group * 4));
    const auto whole = [](std::int64_t count, std::int64_t unit) {
      return static_cast<double>((count + unit - 1) / unit);
    };
    additions_ = std::max(whole(classes, lanes) + 4, whole(classes, group) + 8);
    if (kind != loss_kind::softmax) return;
    const auto [smallest, largest] = std::minmax_element(scores.begin(), scores.end());
    largest_ = static_cast<long double>(*largest);
    const long double spread = largest_ - static_cast<long double>(*smallest);
    for (const double score : scores) total_ += std::exp(static_cast<long double>(score) - largest_);
    const long double first_order = u_ * (spread + 4) + gamma(type_, additions_) + u_ * spread + 6 * u_ * rounds_;
    of_total_ = first_order / (1 - first_order);
  }

  bounded loss() const {
    const auto of_label = static_cast<long double>(scores_[label_]);
    if (kind_ == loss_kind::softmax) {
      const long double logarithm = std::log(total_), distance = largest_ - of_label;
      const long double operands = of_total_ + 2 * u_ * logarithm + u_ * distance;
      return {logarithm + distance, operands + u_ * (logarithm + distance + operands)};
    }
    bounded sum;
    for (std::size_t c = 0; c < scores_.size(); ++c) {
      const auto [value, bound] = kind_ == loss_kind::sigmoid ? softplus(signed_score(c)) : half_square(difference(c));
      sum.value += value;
      sum.bound += bound;
    }
    sum.bound += gamma(type_, additions_) * (sum.value + sum.bound);
    return sum;
  }

  bounded gradient(std::size_t c) const {
    const bounded plain = kind_ == loss_kind::softmax   ? softmax(c)
                          : kind_ == loss_kind::sigmoid ? sigmoid(c)
                                                        : bounded{difference(c), u_ * std::fabs(difference(c))};
    const long double scaled = plain.bound * std::fabs(scale_);
    const long double value = plain.value * scale_;
    return {value, scaled + u_ * (std::fabs(value) + scaled)};
  }

  /// Whether the label has the first of the largest scores.
  bool is_right() const {
    return static_cast<std::size_t>(std::max_element(scores_.begin(), scores_.end()) - scores_.begin()) == label_;
  }

 private:
  long double difference(std::size_t c) const {
    return static_cast<long double>(scores_[c]) - (c == label_ ? 1.0L : 0.0L);
  }
  long double signed_score(std::size_t c) const {
    const auto score = static_cast<long double>(scores_[c]);
    return c == label_ ? -score : score;
  }

  bounded half_square(long double difference) const {
    const long double value = difference * difference / 2;
    return {value, gamma(type_, 4) * value};
  }

  bounded softplus(long double score) const {
    const long double logarithm = std::log1p(std::exp(-std::fabs(score)));
    const long double positive = std::max(score, 0.0L);
    return {positive + logarithm, gamma(type_, 8) * logarithm + u_ * (positive + logarithm)};
  }

  bounded sigmoid(std::size_t c) const {
    const long double score = signed_score(c);
    const long double value = 1 / (1 + std::exp(-score));
    // 4 u of the numerator, and of the denominator less than 4 u and a rounding; the inverse and the product.
    return {c == label_ ? -value : value, gamma(type_, 11) * value};
  }

  bounded softmax(std::size_t c) const {
    const long double distance = largest_ - static_cast<long double>(scores_[c]);
    const long double share = std::exp(-distance) / total_;
    const long double first_order = u_ * (distance + 4) + of_total_ + 3 * u_;
    const long double of_share = share * first_order / (1 - first_order);
    if (c != label_) return {share, of_share};
    // A multiply-add rounds share - 1, and nothing before.
    return {share - 1, of_share + u_ * (1 - share + of_share)};
  }

  loss_kind kind_;
  dtype type_;
  long double u_;
  std::span<const double> scores_;
  std::size_t label_;
  long double scale_;
  double additions_ = 0;
  long double rounds_ = 1;
  long double largest_ = 0;
  long double total_ = 0;
  long double of_total_ = 0;  ///< relative
};

}  // namespace prumo::cases
