// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How partial sums of the gradient of the filters become the gradient.

#include "backward_problem.hpp"
#include <prumo/detail/launch.hpp>

#include <cstdint>
#include <string>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Joins the partial sums [group][output] of each output in the order of the groups. A block is an output.
template <class T>
class joining_kernel {
  using C = compute_t<T>;

 public:
  joining_kernel(const backward_weights_problem<T>& problem, const C* partial_sums, std::int64_t groups)
      : problem_(problem), partial_sums_(partial_sums), groups_(groups) {}

  std::int64_t blocks() const { return problem_.outputs(); }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void operator()(std::int64_t output) const {
    const std::int64_t outputs = problem_.outputs();
    C total(0);
    if (groups_ > 0) total = partial_sums_[output];
    for (std::int64_t group = 1; group < groups_; ++group) total = total + partial_sums_[group * outputs + output];
    problem_.store(output, total);
  }

 private:
  backward_weights_problem<T> problem_;
  const C* partial_sums_;
  std::int64_t groups_;
};

template <class Exec, class T>
void enqueue_joining(const Exec& instance, const backward_weights_problem<T>& problem, const compute_t<T>* partial_sums,
                     std::int64_t groups) {
  static const std::string label = "prumo::convolve_backward_weights::join";
  using prumo::detail::host_work;
  prumo::detail::launch_blocks(instance, label, joining_kernel<T>(problem, partial_sums, groups),
                               host_work::repeated(problem.outputs() * (groups + 1), 1));
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
