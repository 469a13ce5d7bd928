// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/distributions.hpp"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <cmath>
#include <stdexcept>

namespace prumo::bench {

using boost::math::complement;

double digamma(double x) {
  if (!(x > 0)) throw std::domain_error("digamma of a number that is not positive");
  return boost::math::digamma(x);
}

double trigamma(double x) {
  if (!(x > 0)) throw std::domain_error("trigamma of a number that is not positive");
  return boost::math::trigamma(x);
}

double inverse_trigamma(double y) {
  if (!(y > 0)) throw std::domain_error("inverse trigamma of a number that is not positive");
  double x = 0.5 + 1 / y;
  for (int step = 0; step < 50; ++step) {
    const double value = trigamma(x);
    const double change = value * (1 - value / y) / boost::math::polygamma(2, x);
    x += change;
    if (std::abs(change) < 1e-12 * x) break;
  }
  return x;
}

double student_upper(double t, double degrees) { return cdf(complement(boost::math::students_t(degrees), t)); }

double student_quantile(double confidence, double degrees) {
  if (!(confidence > 0 && confidence < 1)) throw std::domain_error("a confidence that is not between 0 and 1");
  return quantile(complement(boost::math::students_t(degrees), (1 - confidence) / 2));
}

double chi_squared_quantile(double probability, double degrees) {
  if (!(probability > 0 && probability < 1)) throw std::domain_error("a probability that is not between 0 and 1");
  return quantile(boost::math::chi_squared(degrees), probability);
}

double fisher_upper(double f, double numerator, double denominator) {
  if (std::isinf(denominator)) return cdf(complement(boost::math::chi_squared(numerator), f * numerator));
  return cdf(complement(boost::math::fisher_f(numerator, denominator), f));
}

}  // namespace prumo::bench
