// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hundred steps in f64 in every way to take them, on the host and on the device if there is one.

#include "small_training.hpp"
#include <prumo/spaces.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace prumo::nets {
namespace {

using tests::largest_difference;
using tests::small_set;
using exec = Kokkos::DefaultExecutionSpace;
using host = Kokkos::DefaultHostExecutionSpace;
using numbers = std::vector<double>;

constexpr std::int64_t all_steps = 100;
constexpr double f64_roundoff = 0x1p-53;

/// Adam's constants, as docs/training.md has them.
constexpr double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/// Convolutions with both kinds of pooling and relu: choices of a maximum or a sign that roundings cannot change, but
/// for numbers that are equal.
description small_net() {
  return {"small",
          {1, 14, 12},
          {convolution{.channels = 4, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
           pooling{.window = {2, 2}, .stride = {2, 2}},
           convolution{.channels = 6, .filter = {3, 3}, .activate = activation::relu},
           pooling{.kind = pooling_kind::average, .window = {2, 2}, .stride = {2, 2}, .round = rounding::up},
           dense{12, true, activation::tanh}, dense{5}}};
}

/// One whose dense layers have shares of inputs and of outputs where a cluster shares the net.
description wide_net() {
  return {"wide",
          {1, 14, 12},
          {convolution{.channels = 4, .filter = {5, 5}, .padding = {2, 2}, .activate = activation::relu},
           pooling{.window = {2, 2}, .stride = {2, 2}},
           convolution{.channels = 9, .filter = {3, 3}, .activate = activation::relu},
           dense{70, true, activation::tanh}, dense{36, true, activation::tanh}, dense{5}}};
}

/// A way to take steps: what becomes of a state.
struct way {
  std::string name;
  std::function<training_state(const training_state& from, std::int64_t steps)> after;
};

template <class Exec>
void add_ways(const small_set& set, training_options options, std::vector<way>& ways) {
  const auto ctx = std::make_shared<context<Exec>>();
  for (const std::string& implementation : set.implementations(*ctx, options)) {
    options.implementation = implementation;
    const auto training = std::make_shared<trainer<Exec>>(set.trainer(*ctx, options));
    ways.push_back(
        {Exec::name() + (", " + implementation), [ctx, training](const training_state& from, std::int64_t steps) {
           training->restore(from);
           training->advance(steps);
           return training->state();
         }});
  }
}

/// Those of the host and, if there is one, of the device.
std::vector<way> all_ways(const small_set& set, const training_options& options) {
  std::vector<way> ways;
  add_ways<host>(set, options, ways);
  if constexpr (!std::is_same_v<exec, host>) add_ways<exec>(set, options, ways);
  return ways;
}

training_state first_state(const small_set& set, const training_options& options) {
  context<host> ctx;
  return set.trainer(ctx, options).state();
}

/// For each weight, the largest sum of magnitudes of the images' own gradients in its array, at a step. A gradient that
/// is summed in any order is off by gamma(K) times that, with K = operations_on_longest_way().
numbers magnitudes(const small_set& set, const training_options& options, const training_state& at) {
  const std::vector<long double> weights(at.weights.begin(), at.weights.end());
  // A step that ends an epoch leaves its counters there.
  const std::int64_t of_an_epoch = (set.images - 1) / options.batch + 1, step = at.progress.steps_done;
  const auto batch = set.batch_of(options, step / of_an_epoch, step % of_an_epoch, dtype::f64);
  const auto size = static_cast<std::size_t>(set.net.input.size());
  numbers sums(weights.size());
  for (std::size_t image = 0; image < batch.labels.size(); ++image) {
    const batch_gradient of_image = exact_gradient(
        set.net, options.loss, weights,
        {std::span(batch.pixels).subspan(image * size, size), std::span(batch.labels).subspan(image, 1)});
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += static_cast<double>(std::fabs(of_image.gradient[i])) / static_cast<double>(batch.labels.size());
    }
  }
  std::size_t first = 0;
  for (const parameter& each : set.facts.all_parameters()) {
    const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(first), end = begin + each.size();
    std::fill(begin, end, *std::max_element(begin, end));
    first += static_cast<std::size_t>(each.size());
  }
  return sums;
}

double operations(const small_set& set, const training_options& options) {
  return operations_on_longest_way(set.facts, std::min(options.batch, set.images)) + 2;
}

/// What a step changes of a weight by its gradient.
struct moved_weight {
  double first = 0, second = 0;  ///< the moments
  double change = 0;
};
moved_weight moved(const training_options& options, double first, double second, double gradient, double step) {
  switch (options.optimizer) {
    case optimizer::sgd: return {0, 0, -options.learning_rate * gradient};
    case optimizer::momentum:
      first = options.momentum * first + gradient;
      return {first, 0, -options.learning_rate * first};
    case optimizer::adam: break;
  }
  first = beta1 * first + (1 - beta1) * gradient;
  second = beta2 * second + (1 - beta2) * gradient * gradient;
  const double mean = first / (1 - std::pow(beta1, step)), square = second / (1 - std::pow(beta2, step));
  return {first, second, -options.learning_rate * mean / (std::sqrt(square) + epsilon)};
}

/// The most by which a change of a gradient by `error` or less changes what a step does to a weight.
///
/// Adam makes q = r m / D of the moments m and v, with D = sqrt(v / c2) + epsilon and r = rate / c1, where c1 and c2
/// correct the first steps. So |dq/dg| <= r ((1 - beta1) / D + |m| |dD/dg| / D^2), and |dD/dg| = (1 - beta2) |g| /
/// sqrt(v c2) <= sqrt((1 - beta2) / c2), since v >= (1 - beta2) g^2. D is least where |g| is, and |m| is at most that
/// of before and (1 - beta1) |g|.
double most_change(const training_options& options, double first, double second, double gradient, double step,
                   double error) {
  if (options.optimizer != optimizer::adam) return options.learning_rate * error;
  const double c1 = 1 - std::pow(beta1, step), c2 = 1 - std::pow(beta2, step);
  const double least = std::max(0.0, std::fabs(gradient) - error);
  const double root = std::sqrt((beta2 * second + (1 - beta2) * least * least) / c2) + epsilon;
  const double mean = std::fabs(beta1 * first + (1 - beta1) * gradient) + (1 - beta1) * error;
  return options.learning_rate / c1 * error * ((1 - beta1) / root + mean * std::sqrt((1 - beta2) / c2) / (root * root));
}

double at(const numbers& of, std::size_t i) { return of.empty() ? 0 : of[i]; }

/// The gradients of a step, from the moments before and after it; of sgd, from the weights.
numbers gradients(const training_options& options, const training_state& before, const training_state& after) {
  numbers found(before.weights.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    switch (options.optimizer) {
      case optimizer::sgd: found[i] = (before.weights[i] - after.weights[i]) / options.learning_rate; break;
      case optimizer::momentum: found[i] = after.first_moments[i] - options.momentum * before.first_moments[i]; break;
      case optimizer::adam: found[i] = (after.first_moments[i] - beta1 * before.first_moments[i]) / (1 - beta1); break;
    }
  }
  return found;
}

/// Each of the steps from one state: all ways begin where the first one is.
///
/// The gradients of two ways are off by gamma(K) each, and most_change() tells what a weight is off by then. The
/// moments and the weight add some roundings. Beside that, a weight must not be off by more than 1e-10 in any case.
void expect_same_steps(const small_set& set, const training_options& options) {
  const std::vector<way> ways = all_ways(set, options);
  const double terms = operations(set, options) * f64_roundoff;
  training_state before = first_state(set, options);
  for (std::int64_t step = 0; step < all_steps; ++step) {
    const training_state after = ways[0].after(before, 1);
    const numbers gradient = gradients(options, before, after), sums = magnitudes(set, options, before);
    for (std::size_t other = 1; other < ways.size(); ++other) {
      const training_state found = ways[other].after(before, 1);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double error = 2 * terms / (1 - terms) * sums[i];
        const double most = most_change(options, at(before.first_moments, i), at(before.second_moments, i), gradient[i],
                                        static_cast<double>(step + 1), error);
        const double changed = std::fabs(after.weights[i] - before.weights[i]);
        const double bound = most + 2 * f64_roundoff * std::fabs(after.weights[i]) + 32 * f64_roundoff * changed;
        ASSERT_LE(std::fabs(found.weights[i] - after.weights[i]), std::min(bound, 1e-10))
            << ways[other].name << ", step " << step << ", weight " << i;
      }
    }
    before = after;
  }
}

/// The steps by a way, where each changes the weights as if its gradients were off at random, by as much as the
/// gradients of two ways differ.
training_state disturbed(const small_set& set, const training_options& options, const way& by, const numbers& errors,
                         unsigned seed) {
  std::mt19937 random(seed);
  training_state before = first_state(set, options);
  for (std::int64_t step = 0; step < all_steps; ++step) {
    training_state after = by.after(before, 1);
    const numbers gradient = gradients(options, before, after);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double sign = (random() & 1U) != 0 ? 1 : -1;
      const double first = at(before.first_moments, i), second = at(before.second_moments, i);
      const auto count = static_cast<double>(step + 1);
      const moved_weight usual = moved(options, first, second, gradient[i], count),
                         other = moved(options, first, second, gradient[i] + sign * errors[i], count);
      if (!after.first_moments.empty()) after.first_moments[i] += other.first - usual.first;
      if (!after.second_moments.empty()) {
        after.second_moments[i] = std::max(0.0, after.second_moments[i] + (other.second - usual.second));
      }
      after.weights[i] += other.change - usual.change;
      if ((random() & 1U) != 0) after.weights[i] *= 1 + 2 * f64_roundoff;
    }
    before = after;
  }
  return before;
}

/// All of the steps: each way goes on from its own states, so what the first steps differ by grows in the others.
///
/// Rounding errors are taken as independent and of mean zero (Higham and Mary, "A new approach to probabilistic
/// rounding error analysis", SIAM Journal on Scientific Computing 41, 2019). Then a gradient with K roundings, each of
/// them at most a unit roundoff of its sum of magnitudes S, has an error of at most sqrt(K) u S in the mean square, and
/// that of two ways sqrt(2 K) u S. To the first order, the difference of two trainings in a weight is a sum of these
/// errors with coefficients that follow from the training, over all steps and gradients. So it has the mean square of
/// what it has if each error is its mean square with a random sign. Trainings that are disturbed like that tell it: it
/// depends on the moments that a training really has, how much Adam makes of an error. By the inequality of Hoeffding,
/// a sum is beyond lambda times its root mean square with a probability of 2 exp(-lambda^2 / 2): for all n weights
/// together with one of 1e-9 at lambda = sqrt(2 log(2e9 n)), which is about 8. Instead of the root mean square of a
/// weight, there is the largest difference of all weights in several trainings, because that of a single weight in few
/// trainings can be small by chance.
void expect_same_trainings(const small_set& set, const training_options& options) {
  constexpr unsigned trainings = 3;
  const std::vector<way> ways = all_ways(set, options);
  const training_state first = first_state(set, options), last = ways[0].after(first, all_steps);
  // Between them, gradients become smaller as the net learns.
  numbers errors = magnitudes(set, options, first);
  const numbers at_the_end = magnitudes(set, options, last);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    errors[i] = std::sqrt(2 * operations(set, options)) * f64_roundoff * std::max(errors[i], at_the_end[i]);
  }
  double largest = 0;
  for (unsigned seed = 1; seed <= trainings; ++seed) {
    largest =
        std::max(largest, largest_difference(disturbed(set, options, ways[0], errors, seed).weights, last.weights));
  }
  const double lambda = std::sqrt(2 * std::log(2e9 * static_cast<double>(errors.size())));
  double bound = lambda * largest;
  if (options.optimizer != optimizer::adam) bound = std::min(bound, 1e-10);
  // The bound says something: the steps have changed the weights by far more.
  EXPECT_LT(bound, 1e-4 * largest_difference(last.weights, first.weights));
  for (std::size_t other = 1; other < ways.size(); ++other) {
    EXPECT_LE(largest_difference(ways[other].after(first, all_steps).weights, last.weights), bound) << ways[other].name;
  }
}

TEST(hundred_steps, agree_one_by_one) {
  for (const optimizer how : {optimizer::sgd, optimizer::momentum, optimizer::adam}) {
    const double rate = how == optimizer::adam ? 0.001 : 0.05;
    expect_same_steps(small_set(named_net("mnist-2f"), 9),
                      {.loss = loss::sigmoid, .optimizer = how, .learning_rate = rate, .batch = 2});
    expect_same_steps(small_set(small_net(), 19), {.optimizer = how, .learning_rate = rate, .batch = 4});
    expect_same_steps(small_set(wide_net(), 19), {.optimizer = how, .learning_rate = rate, .batch = 1});
  }
}

TEST(hundred_steps, agree_at_the_end) {
  for (const optimizer how : {optimizer::sgd, optimizer::momentum, optimizer::adam}) {
    const double rate = how == optimizer::adam ? 0.001 : 0.05;
    expect_same_trainings(small_set(named_net("mnist-2f"), 9),
                          {.loss = loss::sigmoid, .optimizer = how, .learning_rate = rate, .batch = 2});
    expect_same_trainings(small_set(small_net(), 19), {.optimizer = how, .learning_rate = rate, .batch = 4});
  }
}

}  // namespace
}  // namespace prumo::nets
