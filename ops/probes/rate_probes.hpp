// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The probes of rates: how many functions of a kind a space computes a second, if nothing else limits it. A kind of
/// counted flops with a rate has a floor of its own: no operation computes its n functions in less than n / rate. The
/// floors of several kinds do not add up, because the kinds may share the time: an exponential is multiply-adds, too.

#include "chain_probe.hpp"

namespace prumo::probe {
struct exp_rate;
struct log_rate;
struct tanh_rate;
struct erf_rate;
struct div_rate;
struct sqrt_rate;
}  // namespace prumo::probe

namespace prumo::cases {

/// Its `elements` are the functions of a call.
template <class Rate, class Exec>
struct rate_probe_case : chain_probe_case<rate_probe_case<Rate, Exec>, Exec> {
  static constexpr std::int64_t chains_per_block = is_host_space<Exec> ? probe::chains_per_row : 4;
  /// They take a host half a millisecond and a device less.
  static constexpr std::int64_t default_iterations = is_host_space<Exec> ? 2048 : 256;
  static constexpr double rows_per_thread = is_host_space<Exec> ? 4 : 1.0 / 12;

  case_info info() const override;
  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override;
  cost model(dtype type, const shape& extents, const parameters& values) const override;
  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override;
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override;
  double reference_part_cost(const shape& extents, const parameters& values) const override;
  flop_counts count_kernel(const specification& choice) const override;
  flop_counts count_closed_form(const specification& choice) const override;
};

template <class Exec>
struct exp_rate_case final : rate_probe_case<probe::exp_rate, Exec> {};
template <class Exec>
struct log_rate_case final : rate_probe_case<probe::log_rate, Exec> {};
template <class Exec>
struct tanh_rate_case final : rate_probe_case<probe::tanh_rate, Exec> {};
template <class Exec>
struct erf_rate_case final : rate_probe_case<probe::erf_rate, Exec> {};
template <class Exec>
struct div_rate_case final : rate_probe_case<probe::div_rate, Exec> {};
template <class Exec>
struct sqrt_rate_case final : rate_probe_case<probe::sqrt_rate, Exec> {};

}  // namespace prumo::cases
