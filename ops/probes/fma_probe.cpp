// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fma_probe.hpp"

#include "fma_kernel.hpp"
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {

namespace {

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
  return fma_probe_case::chain_info("fma", "independent fused multiply-adds in registers: the ceiling of arithmetic");
}

template <class Exec>
std::vector<array_specification> fma_probe_case<Exec>::arrays(const shape& extents, const parameters&) const {
  return fma_probe_case::chain_arrays(extents, input_domain::symmetric);
}

template <class Exec>
cost fma_probe_case<Exec>::model(dtype type, const shape& extents, const parameters&) const {
  const auto chains = static_cast<double>(extents.at("rows") * probe::chains_per_row);
  // A fused multiply-add for each step and one at the beginning, and the sum of the chains.
  return {fma_probe_case::chain_bytes(type, extents),
          chains * (2 * static_cast<double>(extents.at("iterations") + 1) + 1), chains};
}

template <class Exec>
void fma_probe_case<Exec>::run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const {
  static const std::string label = "prumo::probe::fma";
  with_probed_type(choice.type, [&]<class T>(T) {
    using kernel = probe::fma_chains_kernel<is_host_space<Exec>, T>;
    static_assert(kernel::chains_per_block == chains_per_block);
    fma_probe_case::template launch<kernel, T>(ctx, label, choice, arrays);
  });
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
  constexpr auto chains = static_cast<long double>(chains_per_block);
  // Each step multiplies the earlier error by less than one. It adds a rounding, or two without a fused multiply-add,
  // of a value within |start| + 2 |fixed|. There are at most as many roundings as steps, and at most 2^16 of them
  // count, because sum |factor|^k = 2^16. The start adds one more, and the sum of the chains one for each chain.
  const double roundings = 2.0 * static_cast<double>(std::min<std::int64_t>(iterations, std::int64_t{1} << 16)) + 1;
  const long double largest = std::fabs(row_start) + 1 + 2 * std::fabs(after.fixed);
  const long double bound = chains * gamma(choice.type, roundings + static_cast<double>(chains)) * largest;
  for (std::int64_t result = 0; result < fma_probe_case::results_per_row(); ++result) {
    const long double first = static_cast<long double>(result) * chains;
    const long double mean_start = row_start + (first + (chains - 1) / 2) * static_cast<long double>(probe::fma_offset);
    out.push_back({1, part * fma_probe_case::results_per_row() + result, chains * after.from(mean_start), bound});
  }
}

template <class Exec>
flop_counts fma_probe_case<Exec>::count_kernel(const specification& choice) const {
  flop_counts counts;
  with_probed_type(choice.type, [&]<class T>(T) { count_with<T>(choice, counts); });
  return counts;
}

template <class Exec>
flop_counts fma_probe_case<Exec>::count_closed_form(const specification& choice) const {
  flop_counts counts;
  const auto chains = static_cast<std::uint64_t>(choice.shape.at("rows") * probe::chains_per_row);
  counts[flop_kind::fma] = chains * static_cast<std::uint64_t>(choice.shape.at("iterations") + 1);
  counts[flop_kind::add] = chains;
  return counts;
}

#define PRUMO_INSTANTIATE_FMA_PROBE(Space) template struct fma_probe_case<Space>;
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_FMA_PROBE)

}  // namespace prumo::cases
