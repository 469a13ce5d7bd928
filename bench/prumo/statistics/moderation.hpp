// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <vector>

namespace prumo::bench {

/// A variance that was estimated from a few values.
struct variance_estimate {
  double value = 0;    ///< not negative
  double degrees = 0;  ///< of freedom, above zero
  /// Set by moderate_variances() where the value is too large to be of the same kind as the others.
  bool outlying = false;
};

/// Moderates the variances of many cases that share their machine by empirical Bayes (Smyth, Statistical Applications
/// in Genetics and Molecular Biology 3, 2004, section 6.2). All variances together give a prior, a scaled inverse
/// chi-squared distribution with the scale s0^2 and d0 degrees of freedom. A variance s^2 of d degrees then becomes
/// (d0 s0^2 + d s^2) / (d0 + d). The prior is an estimate itself, so the new variance does not have all d0 + d degrees:
/// it has the harmonic sum of d0 + d and the degrees of all variances together. That matters where there are few cases.
///
/// Some variances are too large for the prior by Holm's test at 1 %. They do not enter it and stay as they are.
/// Phipson, Lee, Majewski, Alexander and Smyth (Annals of Applied Statistics 10, 2016) reach the same aim with a richer
/// model. A single case stays as it is.
///
/// \param between_cases the correlation rho of the cases within a process run (estimate_dependence()). The degrees of m
///        variances together are divided by the design effect 1 + (m - 1) rho^2: cases that share their chance say the
///        same thing.
/// \return the moderated estimates, in order
[[nodiscard]] std::vector<variance_estimate> moderate_variances(std::span<const variance_estimate> variances,
                                                                double between_cases = 0);

}  // namespace prumo::bench
