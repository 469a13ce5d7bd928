// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The probe `fma`: the speed of the vector units if nothing else limits them.

#include <prumo/case/operation_case.hpp>
#include <prumo/spaces.hpp>

namespace prumo::cases {

/// Its size is not the bytes of an array, but the axis `iterations`.
template <class Exec>
struct fma_probe_case final : operation_case<Exec> {
  case_info info() const override;
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override;
  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override;
  cost model(dtype type, const shape& extents, const parameters& values) const override;
  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override;
  std::int64_t reference_parts(const shape& extents, const parameters& values) const override;
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override;
  double reference_part_cost(const shape& extents, const parameters& values) const override;
  flop_counts count_kernel(const specification& choice) const override;
  flop_counts count_closed_form(const specification& choice) const override;
};

}  // namespace prumo::cases
