// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the cases of probes have in common.

#include <prumo/case/operation_case.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace prumo::cases {

/// Calls `function(T{})` with the type of a probe's numbers. 16-bit types are computed in f32 and have no probes.
template <class Function>
decltype(auto) with_probed_type(dtype type, Function&& function) {
  if (type == dtype::f64) return function(double{});
  return function(float{});
}

/// A probe of contiguous arrays, by default of n elements.
template <class Exec>
struct probe_case : operation_case<Exec> {
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_vector(this->info().op, type, bytes_per_array, given);
  }

 protected:
  static case_info probe_info(std::string op, std::string description, std::vector<axis> axes) {
    case_info result;
    result.op = std::move(op);
    result.description = std::move(description);
    result.axes = std::move(axes);
    result.types = {dtype::f32, dtype::f64};
    result.layouts = {array_layout::right};
    result.is_probe = true;
    return result;
  }
};

/// A probe that writes a constant, Derived::written, to each of n elements. Moves are no flops.
template <class Derived, class Exec>
struct writing_probe_case : probe_case<Exec> {
  std::vector<array_specification> arrays(const shape& extents, const parameters&) const final {
    return {{"output", array_role::output, {extents.at("n")}}};
  }
  cost model(dtype type, const shape& extents, const parameters&) const final {
    const auto n = static_cast<double>(extents.at("n"));
    return {n * static_cast<double>(dtype_size(type)), 0, n};
  }
  std::int64_t reference_parts(const shape& extents, const parameters&) const final { return extents.at("n"); }
  double reference_part_cost(const shape&, const parameters&) const final { return 1; }
  void reference(const specification&, const input_values&, std::int64_t part,
                 std::vector<reference_entry>& out) const final {
    out.push_back({0, part, Derived::written, 0});
  }
  flop_counts count_kernel(const specification&) const final { return {}; }
  flop_counts count_closed_form(const specification&) const final { return {}; }
};

}  // namespace prumo::cases
