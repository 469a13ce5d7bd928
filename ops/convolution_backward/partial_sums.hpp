// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How partial sums of the gradient of the filters become the gradient.

#include "backward_problem.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/team_kernel.hpp>
#include <prumo/spaces.hpp>

#include <cstdint>
#include <string>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// Joins the partial sums [group][output] of each output in the order of the groups, on hosts. A block is an output.
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

/// The same on a device. Neighbouring threads take neighbouring outputs, and each stretch of threads a share of the
/// groups, so that enough loads are under way; then the sums of the stretches are joined in order.
template <class T>
class team_joining_kernel {
  using C = compute_t<T>;
  static constexpr int lanes = prumo::detail::exchange_threads, stretches = 8;

 public:
  static constexpr int most_threads = lanes * stretches;
  static constexpr int resident_teams = 2;

  team_joining_kernel(const backward_weights_problem<T>& problem, const C* partial_sums, std::int64_t groups)
      : problem_(problem), partial_sums_(partial_sums), groups_(groups) {}

  std::int64_t blocks() const { return (problem_.outputs() + lanes - 1) / lanes; }
  std::int64_t blocks_per_team() const { return 1; }
  int team_threads() const { return most_threads; }
  std::size_t scratch_bytes() const { return most_threads * sizeof(C); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    C* const sums = prumo::detail::team_scratch_array<C>(member, most_threads);
    const int thread = member.team_rank(), lane = thread % lanes, stretch = thread / lanes;
    const std::int64_t output = std::int64_t{member.league_rank()} * lanes + lane;
    const bool is_there = output < problem_.outputs();
    sums[thread] = is_there ? sum(output, groups_ * stretch / stretches, groups_ * (stretch + 1) / stretches) : C(0);
    member.team_barrier();
    if (stretch > 0 || !is_there) return;
    C total = sums[lane];
    for (int i = 1; i < stretches; ++i) total = total + sums[i * lanes + lane];
    problem_.store(output, total);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION C sum(std::int64_t output, std::int64_t begin, std::int64_t end) const {
    constexpr int at_once = 8;
    const std::int64_t outputs = problem_.outputs();
    const C* from = partial_sums_ + begin * outputs + output;
    C total(0);
    std::int64_t group = begin;
    for (; group + at_once <= end; group += at_once, from += at_once * outputs) {
      C values[at_once];
      PRUMO_UNROLL
      for (int i = 0; i < at_once; ++i) values[i] = from[i * outputs];
      PRUMO_UNROLL
      for (int i = 0; i < at_once; ++i) total = total + values[i];
    }
    for (; group < end; ++group, from += outputs) total = total + *from;
    return total;
  }

  backward_weights_problem<T> problem_;
  const C* partial_sums_;
  std::int64_t groups_;
};

template <class Exec, class T>
void enqueue_joining(const Exec& instance, const backward_weights_problem<T>& problem, const compute_t<T>* partial_sums,
                     std::int64_t groups) {
  static const std::string label = "prumo::convolve_backward_weights::join";
  if constexpr (is_host_space<Exec>) {
    prumo::detail::launch_blocks(instance, label, joining_kernel<T>(problem, partial_sums, groups),
                                 prumo::detail::host_work::repeated(problem.outputs() * (groups + 1), 1));
  } else {
    prumo::detail::launch_teams(instance, label, team_joining_kernel<T>(problem, partial_sums, groups));
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
