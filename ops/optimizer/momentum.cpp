// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimizer_launch.hpp"

#include <cmath>
#include <string>

void prumo::momentum(instance_ref space, const array_ref& rate, double decay, const array_ref& gradients,
                     const array_ref& velocity, const array_ref& weights) {
  static const detail::elementwise_name name("prumo::momentum");
  detail::check_step(name.operation, space, {{"velocity", velocity}, {"weights", weights}}, {"gradients", gradients},
                     {{"rate", rate}});
  if (!(decay >= 0) || !std::isfinite(decay)) {
    throw argument_error("prumo::momentum: expected a decay of 0 or more; got " + std::to_string(decay));
  }
  if (weights.size() == 0) return;
  detail::with_space_and_scalar(space.space(), weights.type, [&]<class Exec, class T> {
    using C = compute_t<T>;
    const auto launch = [&](const auto& formula) {
      detail::launch_elementwise<values<T, T>, T, T, T>(space.instance<Exec>(), name.label, formula,
                                                        space.working_set(), velocity, weights, gradients, velocity,
                                                        weights);
    };
    if constexpr (is_host_space<Exec>) {
      launch(momentum_formula<C>{static_cast<C>(detail::number_in(rate)), static_cast<C>(decay)});
    } else {
      launch(momentum_in_memory<C>{rate.as<const double>(), static_cast<C>(decay)});
    }
  });
}
