// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rate_probes.hpp"

#include "rate_kernel.hpp"
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

template <class Rate, class Exec>
using steps_of = typename Rate::template steps<is_host_space<Exec>>;

/// Calls function(Step{}) with each way to compute the rate's function.
template <class Rate, class Exec, class Function>
void for_each_step(const Function& function) {
  std::apply([&](auto... step) { (function(step), ...); }, steps_of<Rate, Exec>{});
}

/// Calls function(Step{}) with the chosen way.
template <class Rate, class Exec, class Function>
void with_step(const specification& choice, const Function& function) {
  bool found = false;
  for_each_step<Rate, Exec>([&]<class Step>(Step step) {
    if (choice.implementation != Step::name) return;
    found = true;
    function(step);
  });
  if (!found) throw argument_error(choice.op + ": there is no way " + choice.implementation);
}

/// The step whose flops are counted.
template <class Rate, class Exec>
using counted_step = std::tuple_element_t<0, steps_of<Rate, Exec>>;

/// What a step counts.
template <class Step>
flop_counts counts_per_step() {
  flop_counts counts;
  const counting_scope scope(counts);
  (void)Step{}(counted<double>(0.5));
  return counts;
}

}  // namespace

template <class Rate, class Exec>
case_info rate_probe_case<Rate, Exec>::info() const {
  case_info result =
      rate_probe_case::chain_info(std::string(Rate::op), std::string(Rate::description) + ": a ceiling of arithmetic");
  result.implementations.clear();
  for_each_step<Rate, Exec>([&]<class Step>(Step) { result.implementations.emplace_back(Step::name); });
  result.axes[0].test_extents = {0, 1, 3, 33};  // the reference computes every step
  result.axes[1].test_extents = {0, 1, 2, 7, 65, 200};
  return result;
}

template <class Rate, class Exec>
std::vector<array_specification> rate_probe_case<Rate, Exec>::arrays(const shape& extents, const parameters&) const {
  return rate_probe_case::chain_arrays(extents, input_domain::positive);
}

template <class Rate, class Exec>
cost rate_probe_case<Rate, Exec>::model(dtype type, const shape& extents, const parameters&) const {
  const auto chains = static_cast<double>(extents.at("rows") * probe::chains_per_row);
  const double functions = chains * static_cast<double>(extents.at("iterations"));
  // A fused multiply-add at the beginning of each chain, and their sum.
  const auto per_step = static_cast<double>(counts_per_step<counted_step<Rate, Exec>>().total());
  return {rate_probe_case::chain_bytes(type, extents), per_step * functions + 3 * chains, functions};
}

template <class Rate, class Exec>
void rate_probe_case<Rate, Exec>::run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const {
  static const std::string label = "prumo::probe::" + std::string(Rate::op);
  with_probed_type(choice.type, [&]<class T>(T) {
    with_step<Rate, Exec>(choice, [&]<class Step>(Step) {
      using kernel = probe::rate_kernel<is_host_space<Exec>, Step, T>;
      static_assert(kernel::chains_per_block == rate_probe_case::chains_per_block);
      rate_probe_case::template launch<kernel, T>(ctx, label, choice, arrays);
    });
  });
}

template <class Rate, class Exec>
double rate_probe_case<Rate, Exec>::reference_part_cost(const shape& extents, const parameters&) const {
  constexpr double operations = 10;  // of an exact function
  const std::int64_t steps = is_host_space<Exec> ? 1 : extents.at("iterations");
  return operations * static_cast<double>(probe::chains_per_row * (1 + steps));
}

/// On a host each step computes the same, so one error is all. On a device, a step is within four units in the last
/// place of the largest number of its chain: eight roundings. Each error grows by `growth` at most in the steps that
/// follow it.
template <class Rate, class Exec>
void rate_probe_case<Rate, Exec>::reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                            std::vector<reference_entry>& out) const {
  const std::int64_t iterations = choice.shape.at("iterations");
  const long double start = std::fabs(static_cast<long double>(inputs.at(0, part)));
  with_step<Rate, Exec>(choice, [&]<class Step>(Step) {
    constexpr auto chains = static_cast<double>(chains_per_block);
    constexpr double roundings_of_step = 8;
    const std::int64_t steps = is_host_space<Exec> ? std::min<std::int64_t>(iterations, 1) : iterations;
    const double roundings = Step::growth * roundings_of_step * static_cast<double>(steps + 1) + chains;
    const long double bound = chains * Step::largest * gamma(choice.type, roundings);
    for (std::int64_t result = 0; result < rate_probe_case::results_per_row(); ++result) {
      long double total = 0;
      for (std::int64_t chain = 0; chain < chains_per_block; ++chain) {
        const auto which = static_cast<long double>(result * chains_per_block + chain);
        long double x = start * probe::rate_start_factor + probe::rate_start + which * probe::rate_offset;
        for (std::int64_t step = 0; step < steps; ++step) {
          x = Step::exact(x) + (is_host_space<Exec> ? 0 : static_cast<long double>(Step::summand));
        }
        total += x;
      }
      out.push_back({1, part * rate_probe_case::results_per_row() + result, total, bound});
    }
  });
}

template <class Rate, class Exec>
flop_counts rate_probe_case<Rate, Exec>::count_kernel(const specification& choice) const {
  flop_counts counts;
  const input_values inputs(choice);
  with_probed_type(choice.type, [&]<class T>(T) {
    using counting = counted<T>;
    for (std::int64_t row = 0; row < choice.shape.at("rows"); ++row) {
      const counting start(static_cast<T>(std::fabs(inputs.at(0, row))));
      counting result;
      const counting_scope scope(counts);
      probe::rate_kernel<true, counted_step<Rate, Exec>, counting>{&start, &result, 1,
                                                                   choice.shape.at("iterations")}(0);
    }
  });
  return counts;
}

template <class Rate, class Exec>
flop_counts rate_probe_case<Rate, Exec>::count_closed_form(const specification& choice) const {
  const auto chains = static_cast<std::uint64_t>(choice.shape.at("rows") * probe::chains_per_row);
  flop_counts counts = counts_per_step<counted_step<Rate, Exec>>() *
                       (chains * static_cast<std::uint64_t>(choice.shape.at("iterations")));
  counts[flop_kind::fma] += chains;
  counts[flop_kind::add] += chains;
  return counts;
}

#define PRUMO_INSTANTIATE_RATE_PROBES(Space)                \
  template struct rate_probe_case<probe::exp_rate, Space>;  \
  template struct rate_probe_case<probe::log_rate, Space>;  \
  template struct rate_probe_case<probe::tanh_rate, Space>; \
  template struct rate_probe_case<probe::erf_rate, Space>;  \
  template struct rate_probe_case<probe::div_rate, Space>;  \
  template struct rate_probe_case<probe::sqrt_rate, Space>;
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_RATE_PROBES)

}  // namespace prumo::cases
