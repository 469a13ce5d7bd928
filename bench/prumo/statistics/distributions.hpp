// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prumo::bench {

// Functions of the distributions that intervals and verdicts need, by Boost.Math. All throw std::domain_error for
// arguments outside of their domain.

/// psi(x), the derivative of log gamma, for x > 0.
[[nodiscard]] double digamma(double x);

/// psi'(x) for x > 0.
[[nodiscard]] double trigamma(double x);

/// The x > 0 with trigamma(x) == y, for y > 0: Newton on 1/trigamma, which is convex (Smyth, "Linear models and
/// empirical Bayes methods for assessing differential expression in microarray experiments", Statistical Applications
/// in Genetics and Molecular Biology 3 (2004), appendix).
[[nodiscard]] double inverse_trigamma(double y);

/// P(T > t) of Student's t. `degrees` may be infinite: the normal distribution.
[[nodiscard]] double student_upper(double t, double degrees);

/// The t > 0 with P(|T| <= t) == `confidence`, between 0 and 1.
[[nodiscard]] double student_quantile(double confidence, double degrees);

/// The x > 0 that chi-squared of these degrees is below with this probability, between 0 and 1.
[[nodiscard]] double chi_squared_quantile(double probability, double degrees);

/// P(F > f) of Fisher's F. `denominator` may be infinite: chi-squared over its degrees; `numerator` is finite.
[[nodiscard]] double fisher_upper(double f, double numerator, double denominator);

}  // namespace prumo::bench
