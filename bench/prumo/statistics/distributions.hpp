// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prumo::bench {

/// Functions of the distributions that intervals and verdicts need. Relative errors stay below 1e-6.
/// All throw std::invalid_argument for arguments outside of their domain.

/// psi(x), the derivative of log gamma, for x > 0: recurrence and asymptotic series (DLMF 5.5.2, 5.11.2).
[[nodiscard]] double digamma(double x);
/// psi'(x) for x > 0 (DLMF 5.15.5, 5.15.8).
[[nodiscard]] double trigamma(double x);
/// The x > 0 with trigamma(x) == y, for y > 0: Newton on 1/trigamma, which is convex (Smyth, "Linear models and
/// empirical Bayes methods for assessing differential expression in microarray experiments", Statistical Applications
/// in Genetics and Molecular Biology 3 (2004), appendix).
[[nodiscard]] double inverse_trigamma(double y);

/// I_x(a, b), the regularised incomplete beta function, for 0 <= x <= 1 and a, b > 0: the continued fraction DLMF
/// 8.17.22, where it converges fast, else 8.17.4.
[[nodiscard]] double incomplete_beta(double x, double a, double b);

/// P(|T| > |t|) of Student's t (DLMF 8.17.2 with x = d / (d + t^2)). `degrees` may be infinite: the normal
/// distribution.
[[nodiscard]] double student_two_sided(double t, double degrees);
/// The t > 0 with P(|T| <= t) == `confidence`, between 0 and 1.
[[nodiscard]] double student_quantile(double confidence, double degrees);

/// P(F > f) of Fisher's F. `denominator` may be infinite: chi-squared over its degrees; `numerator` is finite.
[[nodiscard]] double fisher_upper(double f, double numerator, double denominator);

}  // namespace prumo::bench
