// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimizer_launch.hpp"

#include <cmath>
#include <string>

namespace {

void check_options(const prumo::adam_options& options) {
  const auto is_share = [](double beta) { return beta >= 0 && beta < 1; };
  if (is_share(options.beta1) && is_share(options.beta2) && options.epsilon > 0 && std::isfinite(options.epsilon)) {
    return;
  }
  throw prumo::argument_error(
      "prumo::adam: expected beta1 and beta2 from 0 to less than 1, and a positive epsilon; got beta1 " +
      std::to_string(options.beta1) + ", beta2 " + std::to_string(options.beta2) + ", epsilon " +
      std::to_string(options.epsilon));
}

}  // namespace

void prumo::adam(instance_ref space, const array_ref& rate, const array_ref& step, const array_ref& gradients,
                 const array_ref& mean, const array_ref& square, const array_ref& weights,
                 const adam_options& options) {
  static const detail::elementwise_name name("prumo::adam");
  detail::check_step(name.operation, space, {{"mean", mean}, {"square", square}, {"weights", weights}},
                     {"gradients", gradients}, {{"rate", rate}, {"step", step}});
  check_options(options);
  if (weights.size() == 0) return;
  const auto known = adam_constants::of(options);
  detail::with_space_and_scalar(space.space(), weights.type, [&]<class Exec, class T> {
    using C = compute_t<T>;
    const auto launch = [&](const auto& formula) {
      detail::launch_elementwise<values<T, T, T>, T, T, T, T>(space.instance<Exec>(), name.label, formula,
                                                              space.working_set(), mean, square, weights, gradients,
                                                              mean, square, weights);
    };
    if constexpr (is_host_space<Exec>) {
      launch(adam_formula_of<C>(known, detail::number_in(rate), detail::number_in(step)));
    } else {
      launch(adam_in_memory<C>{rate.as<const double>(), step.as<const double>(), known});
    }
  });
}
