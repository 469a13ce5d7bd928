// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimizer_launch.hpp"

void prumo::sgd(instance_ref space, const array_ref& rate, const array_ref& gradients, const array_ref& weights) {
  static const detail::elementwise_name name("prumo::sgd");
  detail::check_step(name.operation, space, {{"weights", weights}}, {"gradients", gradients}, {{"rate", rate}});
  if (weights.size() == 0) return;
  detail::with_space_and_scalar(space.space(), weights.type, [&]<class Exec, class T> {
    using C = compute_t<T>;
    const auto launch = [&](const auto& formula) {
      detail::launch_elementwise<T, T, T>(space.instance<Exec>(), name.label, formula, space.working_set(), weights,
                                          gradients, weights);
    };
    if constexpr (is_host_space<Exec>) {
      launch(sgd_formula<C>{static_cast<C>(detail::number_in(rate))});
    } else {
      launch(sgd_in_memory<C>{rate.as<const double>()});
    }
  });
}
