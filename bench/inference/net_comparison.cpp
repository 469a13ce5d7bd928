// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/inference/net_comparison.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace prumo::inference {
namespace {

using exact_results = std::vector<nets::bounded_value>;

/// |result - exact| over its bound; NaN if the result is NaN.
long double share_of_bound(double result, const nets::bounded_value& exact) {
  const long double error = std::fabs(static_cast<long double>(result) - exact.value);
  return error == 0 ? 0 : error / exact.bound;
}

std::size_t exact_prediction(const exact_results& exact) {
  const auto best = std::ranges::max_element(exact, {}, &nets::bounded_value::value);
  return static_cast<std::size_t>(best - exact.begin());
}

/// Whether computed results may put `other` before `best`.
bool may_swap(const exact_results& exact, std::size_t best, std::size_t other) {
  return exact[best].value - exact[other].value <= exact[best].bound + exact[other].bound;
}

std::string describe(std::int64_t image, const std::string& place, std::size_t which, double result,
                     const nets::bounded_value& exact) {
  char text[160];
  std::snprintf(text, sizeof text, " %zu: %.9g, expected %.9g within %.2g", which, result,
                static_cast<double>(exact.value), static_cast<double>(exact.bound));
  return "image " + std::to_string(image) + ", " + place + text;
}

/// The largest share of a bound that results take. A NaN stays the largest: no share is compared as smaller or larger.
struct largest_share {
  long double share = 0;
  std::string message;  ///< about the first result beyond its bound

  void look_at(std::int64_t image, const std::string& place, std::span<const double> results,
               const exact_results& exact) {
    for (std::size_t k = 0; k < exact.size(); ++k) {
      const long double here = share_of_bound(results[k], exact[k]);
      if (here <= share) continue;
      if (!std::isnan(share)) share = here;
      if (!(here <= 1) && message.empty()) message = describe(image, place, k, results[k], exact[k]);
    }
  }
};

}  // namespace

nets::arithmetic arithmetic_of(std::string_view dtype) {
  if (dtype == "f64") return {0x1p-53L, 0, nets::smallest_double_roundoff};
  if (dtype == "f16") return {0x1p-24L, 0x1p-11L, 0x1p-25L};
  if (dtype == "bf16") return {0x1p-24L, 0x1p-8L, 0x1p-134L};
  return {};
}

std::size_t prediction(std::span<const double> results) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < results.size(); ++k) {
    if (results[k] > results[best] || (std::isnan(results[best]) && !std::isnan(results[k]))) best = k;
  }
  return best;
}

protocol::check_answer compare_with_reference(const data::net& net, std::span<const double> weights,
                                              std::span<const computed_image> images, const nets::arithmetic& how,
                                              std::span<const net_step> steps) {
  protocol::check_answer answer;
  answer.error_bound = 1;
  answer.differing = answer.undecided = 0;
  answer.checked = static_cast<std::int64_t>(images.size());
  largest_share largest;
  for (const computed_image& image : images) {
    const exact_results exact = nets::exact_forward(net.description, weights, image.pixels, how);
    if (!steps.empty() && image.steps.size() == steps.size() && image.steps.back() == image.results) {
      for (std::size_t step = 0; step < steps.size(); ++step) {
        const std::vector<double>& input = step == 0 ? image.pixels : image.steps[step - 1];
        largest.look_at(image.number, "step " + steps[step].name + ", result", image.steps[step],
                        nets::exact_layers(net.description, steps[step].first, steps[step].last, weights, input, how));
      }
    } else {
      largest.look_at(image.number, "class", image.results, exact);
    }
    const std::size_t best = exact_prediction(exact);
    bool is_open = false;
    for (std::size_t k = 0; k < exact.size(); ++k) is_open = is_open || (k != best && may_swap(exact, best, k));
    if (is_open) ++*answer.undecided;
    if (!may_swap(exact, best, prediction(image.results))) ++*answer.differing;
  }
  answer.verified = largest.share <= 1;
  answer.message = largest.message;
  if (!std::isnan(largest.share)) answer.error = static_cast<double>(largest.share);
  return answer;
}

}  // namespace prumo::inference
