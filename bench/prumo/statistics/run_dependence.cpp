// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/run_dependence.hpp"

#include "statistics/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace prumo::bench {
namespace {

/// Deviations from the mean; empty for a case of fewer than two runs or without spread.
run_series deviations_of(const run_series& values) {
  double count = 0;
  double mean = 0;
  for (const auto& it : values) {
    if (!it) continue;
    ++count;
    mean += (*it - mean) / count;
  }
  if (count < 2) return {};
  run_series deviations(values.size());
  bool differ = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    deviations[i] = *values[i] - mean;
    differ = differ || *deviations[i] != 0;
  }
  return differ ? deviations : run_series{};
}

/// Divided by their standard deviation.
run_series standardised(run_series deviations) {
  double squares = 0;
  double count = 0;
  for (const auto& it : deviations) {
    if (!it) continue;
    squares += *it * *it;
    ++count;
  }
  for (auto& it : deviations) {
    if (it) *it /= std::sqrt(squares / (count - 1));
  }
  return deviations;
}

double correlation_between_cases(std::span<const run_series> cases) {
  std::size_t runs = 0;
  for (const run_series& it : cases) runs = std::max(runs, it.size());
  double products = 0;  // of all pairs of cases in a run
  double pairs = 0;
  double most_runs = 0;
  double most_cases = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    double sum = 0;
    double squares = 0;
    double count = 0;
    for (const run_series& it : cases) {
      if (run >= it.size() || !it[run]) continue;
      sum += *it[run];
      squares += *it[run] * *it[run];
      ++count;
    }
    if (count < 2) continue;
    ++most_runs;
    most_cases = std::max(most_cases, count);
    products += sum * sum - squares;
    pairs += count * (count - 1);
  }
  if (most_runs < 2) return 0;
  const double seen = products / pairs * most_runs / (most_runs - 1);
  constexpr double upper_tail = 0.4;
  const double least_share = chi_squared_quantile(upper_tail, most_runs - 1) / (most_runs - 1);
  const double variance = std::max(0.0, 1 + (most_cases - 1) * seen) / least_share;
  return std::clamp((variance - 1) / (most_cases - 1), 0.0, 1.0);
}

/// What the sum of e_i e_{i+1} over the sum of e_i^2 is for independent normal values x and e = (I - J/n) x.
struct neighbour_moments {
  double mean = 0;      ///< of the ratio of the two expectations
  double variance = 0;  ///< to first order, of one case
};

neighbour_moments of_independent(std::size_t count) {
  const auto n = static_cast<double>(count);
  // The products are e'Ae, and A has 1/2 beside its diagonal. These are the traces of A projected by I - J/n, and of
  // its square. The row sums of A are 1/2 at the ends and 1 elsewhere.
  const double trace = -(n - 1) / n;
  const double square_of_a = (n - 1) / 2;
  const double row_sums_squared = n - 2 + 0.5;
  const double trace_of_square = square_of_a - 2 * row_sums_squared / n + (n - 1) * (n - 1) / (n * n);
  const double degrees = n - 1;
  return {trace / degrees, 2 * (trace_of_square - trace * trace / degrees) / (degrees * degrees)};
}

/// Of an autoregressive process of first order with this correlation.
struct process_sums {
  double neighbours = 0;  ///< expected sum of products of neighbouring deviations
  double squares = 0;     ///< expected sum of squared deviations
  double whole = 0;       ///< variance of the sum of all values
};

process_sums sums_of_process(double correlation, std::size_t count) {
  const auto n = static_cast<double>(count);
  process_sums sums;
  std::vector<double> row(count, 0);  // covariance of each value with the sum of all
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      row[i] += std::pow(correlation, std::abs(static_cast<double>(i) - static_cast<double>(j)));
    }
    sums.whole += row[i];
  }
  sums.squares = n - sums.whole / n;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    sums.neighbours += correlation - (row[i] + row[i + 1]) / n + sums.whole / (n * n);
  }
  return sums;
}

double factor_of_process(double correlation, std::size_t count) {
  const auto n = static_cast<double>(count);
  const process_sums sums = sums_of_process(correlation, count);
  return (sums.whole / n) / (sums.squares / (n - 1));
}

/// The sums of one number of runs: only series of one length can be pooled.
struct neighbour_sums {
  double products = 0;
  double squares = 0;
  double cases = 0;
};

double variance_factor(std::span<const run_series> deviations, std::span<const double> variances,
                       double between_cases) {
  std::map<std::size_t, neighbour_sums> sums_of;
  for (std::size_t place = 0; place < deviations.size(); ++place) {
    const run_series& it = deviations[place];
    if (it.size() < 3 || !(variances[place] > 0)) continue;
    if (std::ranges::any_of(it, [](const auto& value) { return !value; })) continue;
    neighbour_sums& sums = sums_of[it.size()];
    for (std::size_t i = 0; i < it.size(); ++i) {
      sums.squares += *it[i] * *it[i] / variances[place];
      if (i > 0) sums.products += *it[i] * *it[i - 1] / variances[place];
    }
    ++sums.cases;
  }
  if (sums_of.empty()) return 1;
  const auto& [count, seen] = *std::ranges::max_element(
      sums_of, {}, [](const auto& it) { return static_cast<double>(it.first) * it.second.cases; });
  const double mean = seen.products / seen.squares;
  const neighbour_moments independent = of_independent(count);
  const double design_effect = 1 + (seen.cases - 1) * between_cases * between_cases;
  const double error = std::sqrt(independent.variance * design_effect / seen.cases);
  constexpr double evident = 1.645;  // one in twenty of a normal distribution
  if (mean <= independent.mean + evident * error) return 1;
  double low = 0;
  double high = 0.9;  // beyond it the mean of so few runs says nothing
  constexpr int steps = 30;
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    const process_sums sums = sums_of_process(middle, count);
    (sums.neighbours / sums.squares < mean ? low : high) = middle;
  }
  return factor_of_process(low, count);
}

}  // namespace

run_dependence estimate_dependence(std::span<const run_series> cases, std::span<const double> variances) {
  std::vector<run_series> deviations;
  std::vector<run_series> scaled;
  std::vector<double> known_variances;
  for (std::size_t place = 0; place < cases.size(); ++place) {
    run_series own = deviations_of(cases[place]);
    if (own.empty()) continue;
    scaled.push_back(standardised(own));
    deviations.push_back(std::move(own));
    known_variances.push_back(variances[place]);
  }
  run_dependence found;
  if (scaled.empty()) return found;
  if (scaled.size() > 1) found.between_cases = correlation_between_cases(scaled);
  found.variance_factor = variance_factor(deviations, known_variances, found.between_cases);
  return found;
}

}  // namespace prumo::bench
