// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace prumo::bench {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/// Above this many degrees of freedom the limit is nearer than what rounding leaves of differences of log gamma.
constexpr double as_good_as_infinite = 1e7;

/// From here on four terms of the asymptotic series of digamma and trigamma are exact to 1e-13.
constexpr double asymptotic_from = 15;

/// The continued fraction of I_x(a, b), by Lentz's method.
double beta_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300;
  constexpr int most_terms = 100000;  // about sqrt(max(a, b)) are needed
  const auto apart = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / apart(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < most_terms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / apart(1 + even * d);
    c = apart(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / apart(1 + odd * d);
    c = apart(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return value;
}

/// P(X > x) of chi-squared, by the series of the lower or the continued fraction of the upper incomplete gamma function
/// (DLMF 8.7.1, 8.9.2).
double chi_squared_upper(double x, double degrees) {
  const double a = degrees / 2;
  const double z = x / 2;
  if (z <= 0) return 1;
  const double front = std::exp(a * std::log(z) - z - std::lgamma(a));
  if (z < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double n = a + 1; term > 1e-16 * sum; ++n) sum += term *= z / n;
    return 1 - front * sum;
  }
  double b = z + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double value = d;
  for (int i = 1; i < 100000; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return front * value;
}

}  // namespace

double digamma(double x) {
  require(x > 0, "digamma of a number that is not positive");
  double shift = 0;
  for (; x < asymptotic_from; ++x) shift -= 1 / x;
  const double square = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x -
         square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

double trigamma(double x) {
  require(x > 0, "trigamma of a number that is not positive");
  double shift = 0;
  for (; x < asymptotic_from; ++x) shift += 1 / (x * x);
  const double square = 1 / (x * x);
  return shift + 1 / x + square / 2 + square / x * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42 - square / 30)));
}

double inverse_trigamma(double y) {
  require(y > 0, "inverse trigamma of a number that is not positive");
  if (y > 1e7) return 1 / std::sqrt(y);
  if (y < 1e-6) return 1 / y;
  double x = 0.5 + 1 / y;
  for (int step = 0; step < 50; ++step) {
    const double value = trigamma(x);
    const double slope = (trigamma(x * (1 + 1e-6)) - trigamma(x * (1 - 1e-6))) / (2e-6 * x);
    const double change = value * (1 - value / y) / slope;
    x += change;
    if (std::abs(change) < 1e-12 * x) break;
  }
  return x;
}

double incomplete_beta(double x, double a, double b) {
  require(x >= 0 && x <= 1 && a > 0 && b > 0, "incomplete beta function outside of its domain");
  if (x == 0 || x == 1) return x;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(x, a, b) / a : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_two_sided(double t, double degrees) {
  require(degrees > 0 && !std::isnan(t), "Student's t without degrees of freedom, or of no number");
  if (std::isinf(t)) return 0;
  if (degrees > as_good_as_infinite) return std::erfc(std::abs(t) / std::numbers::sqrt2);
  return incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5);
}

double student_quantile(double confidence, double degrees) {
  require(confidence > 0 && confidence < 1 && degrees > 0, "a quantile of Student's t outside of its domain");
  const double wanted = 1 - confidence;
  double low = 0;
  double high = 1;
  while (student_two_sided(high, degrees) > wanted && high < std::numeric_limits<double>::max() / 4) high *= 2;
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = low + (high - low) / 2;
    (student_two_sided(middle, degrees) > wanted ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

double fisher_upper(double f, double numerator, double denominator) {
  require(f >= 0 && numerator > 0 && denominator > 0, "Fisher's F outside of its domain");
  if (std::isinf(f)) return 0;
  if (denominator > as_good_as_infinite) return chi_squared_upper(f * numerator, numerator);
  return incomplete_beta(denominator / (denominator + numerator * f), denominator / 2, numerator / 2);
}

}  // namespace prumo::bench
