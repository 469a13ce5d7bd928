// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fma_probe.hpp"

#include "fma_kernel.hpp"
#include <prumo/case/rounding.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {

namespace {

/// The number of steps. They take a host half a millisecond and a device one: long beside a launch, and short beside a
/// request.
template <class Exec>
constexpr std::int64_t default_iterations = is_host_space<Exec> ? 65536 : 8192;

/// Rows that give every thread of the space the same number of blocks.
template <class Exec>
std::int64_t default_rows() {
  const auto threads = static_cast<std::int64_t>(concurrency_of(Exec()));
  return is_host_space<Exec> ? 4 * threads : std::max<std::int64_t>(1, threads / 12);
}

/// The value of the recurrence after this number of steps: fixed + factor^steps (start - fixed). It is linear in the
/// start, so the sum over chains follows from the mean of their starts.
struct chain_after {
  explicit chain_after(std::int64_t steps)
      : fixed(static_cast<long double>(probe::fma_summand) / (1 - static_cast<long double>(probe::fma_factor))),
        power(std::pow(-static_cast<long double>(probe::fma_factor), static_cast<long double>(steps)) *
              (steps % 2 == 0 ? 1 : -1)) {}
  long double from(long double start) const { return fixed + power * (start - fixed); }
  long double fixed;
  long double power;
};

/// The number of chains in the sum of one result.
template <class Exec>
constexpr std::int64_t chains_per_result = probe::fma_chains_kernel<is_host_space<Exec>, float>::chains_per_block;
template <class Exec>
constexpr std::int64_t results_per_row = probe::fma_chains / chains_per_result<Exec>;

template <class T>
void count_with(const specification& choice, flop_counts& counts) {
  using counting = counted<T>;
  const input_values inputs(choice);
  for (std::int64_t row = 0; row < choice.shape.at("rows"); ++row) {
    const counting start(static_cast<T>(inputs.at(0, row)));
    counting result;
    const counting_scope scope(counts);
    probe::fma_chains_kernel<true, counting>{&start, &result, 1, choice.shape.at("iterations")}(0);
  }
}

}  // namespace

template <class Exec>
case_info fma_probe_case<Exec>::info() const {
  case_info result;
  result.op = "fma";
  result.description = "independent fused multiply-adds in registers: the ceiling of arithmetic";
  result.axes = {{"rows", "rows of 192 chains each; by default as many as keep all threads at work", 0},
                 {"iterations", "steps of each chain", default_iterations<Exec>}};
  result.types = {dtype::f32, dtype::f64};
  result.layouts = {array_layout::right};
  result.is_probe = true;
  return result;
}

template <class Exec>
shape fma_probe_case<Exec>::resolve(dtype, std::int64_t, const shape& given) const {
  for (const auto& [name, extent] : given) {
    if (name != "rows" && name != "iterations") {
      throw argument_error("fma: there is no axis '" + name + "'; there are: rows, iterations");
    }
  }
  return {{"rows", given.contains("rows") ? given.at("rows") : default_rows<Exec>()},
          {"iterations", given.contains("iterations") ? given.at("iterations") : default_iterations<Exec>}};
}

template <class Exec>
std::vector<array_specification> fma_probe_case<Exec>::arrays(const shape& extents, const parameters&) const {
  const std::int64_t rows = extents.at("rows");
  return {{"start", array_role::input, {rows}}, {"output", array_role::output, {rows * results_per_row<Exec>}}};
}

template <class Exec>
cost fma_probe_case<Exec>::model(dtype type, const shape& extents, const parameters&) const {
  const auto rows = static_cast<double>(extents.at("rows"));
  const double chains = rows * static_cast<double>(probe::fma_chains);
  // A fused multiply-add for each step and one at the beginning, and the sum of the chains.
  return {rows * static_cast<double>((1 + results_per_row<Exec>)*static_cast<std::int64_t>(dtype_size(type))),
          chains * (2 * static_cast<double>(extents.at("iterations") + 1) + 1), chains};
}

template <class Exec>
void fma_probe_case<Exec>::run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const {
  static const std::string label = "prumo::probe::fma";
  const auto launch = [&]<class T>(T) {
    prumo::detail::launch_blocks(
        ctx.instance(), label,
        probe::fma_chains_kernel<is_host_space<Exec>, T>{arrays[0].as<const T>(), arrays[1].as<T>(),
                                                         choice.shape.at("rows"), choice.shape.at("iterations")});
  };
  if (choice.type == dtype::f64) {
    launch(double{});
  } else {
    launch(float{});
  }
}

template <class Exec>
std::int64_t fma_probe_case<Exec>::reference_parts(const shape& extents, const parameters&) const {
  return extents.at("rows");
}

template <class Exec>
double fma_probe_case<Exec>::reference_part_cost(const shape&, const parameters&) const {
  return 100.0;
}

template <class Exec>
void fma_probe_case<Exec>::reference(const specification& choice, const input_values& inputs, std::int64_t part,
                                     std::vector<reference_entry>& out) const {
  const std::int64_t iterations = choice.shape.at("iterations");
  const chain_after after(iterations);
  const auto row_start = static_cast<long double>(inputs.at(0, part));
  constexpr auto chains = static_cast<long double>(chains_per_result<Exec>);
  // Each step multiplies the earlier error by less than one. It adds a rounding, or two without a fused multiply-add,
  // of a value within |start| + 2 |fixed|. There are at most as many roundings as steps, and at most 2^16 of them
  // count, because sum |factor|^k = 2^16. The start adds one more, and the sum of the chains one for each chain.
  const double roundings = 2.0 * static_cast<double>(std::min<std::int64_t>(iterations, std::int64_t{1} << 16)) + 1;
  const long double largest = std::fabs(row_start) + 1 + 2 * std::fabs(after.fixed);
  const long double bound = chains * gamma(choice.type, roundings + static_cast<double>(chains)) * largest;
  for (std::int64_t result = 0; result < results_per_row<Exec>; ++result) {
    const long double first = static_cast<long double>(result) * chains;
    const long double mean_start = row_start + (first + (chains - 1) / 2) * static_cast<long double>(probe::fma_offset);
    out.push_back({1, part * results_per_row<Exec> + result, chains * after.from(mean_start), bound});
  }
}

template <class Exec>
flop_counts fma_probe_case<Exec>::count_kernel(const specification& choice) const {
  flop_counts counts;
  if (choice.type == dtype::f64) {
    count_with<double>(choice, counts);
  } else {
    count_with<float>(choice, counts);
  }
  return counts;
}

template <class Exec>
flop_counts fma_probe_case<Exec>::count_closed_form(const specification& choice) const {
  flop_counts counts;
  const auto chains = static_cast<std::uint64_t>(choice.shape.at("rows") * probe::fma_chains);
  counts[flop_kind::fma] = chains * static_cast<std::uint64_t>(choice.shape.at("iterations") + 1);
  counts[flop_kind::add] = chains;
  return counts;
}

#define PRUMO_INSTANTIATE_FMA_PROBE(Space) template struct fma_probe_case<Space>;
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_FMA_PROBE)

}  // namespace prumo::cases
