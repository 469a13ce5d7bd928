// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/inference/training_setup.hpp>
#include <prumo/nets/training_reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace prumo::inference {
namespace {

// Those of PyTorch's Adam. The first step does not depend on beta2.
constexpr double beta1 = 0.9, epsilon = 1e-8;

/// The gradient that the step used, as the optimizer's arrays or the change of the weights tell it.
std::vector<double> used_gradient(const nets::training_options& options, const computed_step& step) {
  std::vector<double> gradient = step.after.first_moments;
  switch (options.optimizer) {
    case nets::optimizer::sgd:
      gradient = step.before;
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] = (step.before[i] - step.after.weights[i]) / options.learning_rate;
      }
      break;
    case nets::optimizer::momentum: break;
    case nets::optimizer::adam:
      for (double& it : gradient) it /= 1 - beta1;
      break;
  }
  return gradient;
}

/// The weight that the first step of the optimizer makes of the gradient.
double updated(const nets::training_options& options, double before, double gradient) {
  const double change =
      options.optimizer == nets::optimizer::adam ? gradient / (std::fabs(gradient) + epsilon) : gradient;
  return before - options.learning_rate * change;
}

struct worst_share {
  double share = 0;
  std::string message;

  void look_at(const std::string& what, std::size_t which, double found, double exact, double bound) {
    const double error = std::fabs(found - exact);
    const double here = error == 0 ? 0 : error / bound;
    if (here <= share) return;
    if (!std::isnan(share)) share = here;
    if (here <= 1 || !message.empty()) return;
    char text[160];
    std::snprintf(text, sizeof text, " %zu: %.9g, expected %.9g within %.2g", which, found, exact, bound);
    message = what + text;
  }
};

}  // namespace

protocol::check_answer compare_step(const data::net& net, const nets::training_options& options, std::string_view type,
                                    const computed_step& step) {
  const double unit = type == "f64" ? 0x1p-53 : 0x1p-24;
  const auto images = static_cast<std::int64_t>(step.labels.size());
  const double gamma = std::expm1(-nets::operations_on_longest_way(net.facts, images) * std::log1p(-unit));
  const double scale = options.loss == nets::loss::original ? 1 : 1 / static_cast<double>(images);

  const std::vector<long double> weights(step.before.begin(), step.before.end());
  std::vector<long double> exact(weights.size()), magnitudes(weights.size());
  const auto pixels = static_cast<std::size_t>(net.description.input.size());
  for (std::size_t image = 0; image < step.labels.size(); ++image) {
    const nets::batch_gradient of_image = nets::exact_gradient(
        net.description, options.loss, weights,
        {std::span(step.pixels).subspan(image * pixels, pixels), std::span(step.labels).subspan(image, 1)});
    for (std::size_t i = 0; i < exact.size(); ++i) {
      exact[i] += scale * of_image.gradient[i];
      magnitudes[i] += scale * std::fabs(of_image.gradient[i]);
    }
  }
  const std::vector<double> found = used_gradient(options, step);
  worst_share worst;
  std::size_t first = 0;
  for (const nets::parameter& it : net.facts.all_parameters()) {
    const auto last = first + static_cast<std::size_t>(it.size());
    long double largest = 0;
    for (std::size_t i = first; i < last; ++i) largest = std::max(largest, magnitudes[i]);
    for (std::size_t i = first; i < last; ++i) {
      const double before = step.before[i], after = step.after.weights[i];
      double bound = gamma * static_cast<double>(largest);
      // The change of a weight is known to a rounding of the weight.
      if (options.optimizer == nets::optimizer::sgd) {
        bound += unit * (std::fabs(before) + std::fabs(after)) / options.learning_rate;
      } else {
        bound += 8 * unit * std::fabs(found[i]);
        const double expected = updated(options, before, found[i]);
        const double change = std::fabs(expected - before);
        worst.look_at(it.name + ", weight", i - first, after, expected,
                      unit * (std::fabs(before) + std::fabs(expected)) + 16 * unit * change);
      }
      worst.look_at(it.name + ", gradient", i - first, found[i], static_cast<double>(exact[i]), bound);
    }
    first = last;
  }
  protocol::check_answer answer;
  answer.error_bound = 1;
  answer.checked = images;
  answer.verified = worst.share <= 1;
  answer.message = worst.message;
  if (!std::isnan(worst.share)) answer.error = worst.share;
  answer.method = step.is_whole ? "all" : "sampled";
  return answer;
}

}  // namespace prumo::inference
