// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <vector>

namespace prumo::bench {

/// A variance that was estimated from a few values.
struct variance_estimate {
  double value = 0;    ///< not negative
  double degrees = 0;  ///< of freedom, above zero
};

/// Lets variances of many cases that share their machine support each other: empirical Bayes with a scaled inverse
/// chi-squared prior whose scale and degrees d0 come from all variances together (Smyth, Statistical Applications in
/// Genetics and Molecular Biology 3, 2004, equations of section 6.2). Each becomes (d0 s0^2 + d s^2) / (d0 + d) with
/// the harmonic sum of d0 + d and of all degrees together: the prior is an estimate, too, which matters for few cases.
///
/// A case whose variance is much larger than the others' is not drawn down to them: those that Holm's test at 1 % finds
/// too large are left out of the prior and keep what is their own; this is the aim of Phipson, Lee, Majewski, Alexander
/// and Smyth, Annals of Applied Statistics 10 (2016), by simpler means. A single case stays as it is.
/// \return the moderated estimates, in order
[[nodiscard]] std::vector<variance_estimate> moderate_variances(std::span<const variance_estimate> variances);

}  // namespace prumo::bench
