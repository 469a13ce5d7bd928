// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The probe `fma`: the speed of the vector units if nothing else limits them.

#include "chain_probe.hpp"

namespace prumo::cases {

template <class Exec>
struct fma_probe_case final : chain_probe_case<fma_probe_case<Exec>, Exec> {
  static constexpr std::int64_t chains_per_block = is_host_space<Exec> ? probe::chains_per_row : 16;
  /// They take a host half a millisecond and a device one: long beside a launch, and short beside a request.
  static constexpr std::int64_t default_iterations = is_host_space<Exec> ? 65536 : 8192;
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

}  // namespace prumo::cases
