// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the probes of arithmetic have in common: chains of steps in registers, which touch hardly any memory.

#include "probe_case.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>

namespace prumo::probe {

/// The number of independent chains of a row. It is a multiple of the vectors in flight on every host.
inline constexpr std::int64_t chains_per_row = 192;

}  // namespace prumo::probe

namespace prumo::cases {

/// A probe of rows of chains. The size of a case is not the bytes of an array but the axis `iterations`, the steps of a
/// chain. Derived has
/// - `chains_per_block`, the chains whose sum is an entry of the output;
/// - `default_iterations`, and `rows_per_thread`, the rows for a thread that runs at the same time as all others.
template <class Derived, class Exec>
struct chain_probe_case : probe_case<Exec> {
  shape resolve(dtype, std::int64_t, const shape& given) const final {
    for (const auto& [name, extent] : given) {
      if (name != "rows" && name != "iterations") {
        throw argument_error(this->info().op + ": there is no axis '" + name + "'; there are: rows, iterations");
      }
    }
    return {{"rows", given.contains("rows") ? given.at("rows") : default_rows()},
            {"iterations", given.contains("iterations") ? given.at("iterations") : Derived::default_iterations}};
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const final { return extents.at("rows"); }

 protected:
  static std::int64_t results_per_row() { return probe::chains_per_row / Derived::chains_per_block; }

  static case_info chain_info(std::string op, std::string description) {
    return chain_probe_case::probe_info(
        std::move(op), std::move(description),
        {{"rows", "rows of 192 chains each; by default as many as keep all threads at work", 0},
         {"iterations", "steps of each chain", Derived::default_iterations}});
  }

  static std::vector<array_specification> chain_arrays(const shape& extents, input_domain domain) {
    const std::int64_t rows = extents.at("rows");
    return {{"start", array_role::input, {rows}, {}, domain},
            {"output", array_role::output, {rows * results_per_row()}}};
  }

  /// Enqueues a kernel of chains of T.
  template <class Kernel, class T>
  static void launch(context<Exec>& ctx, const std::string& label, const specification& choice, case_arrays arrays) {
    const Kernel kernel{arrays[0].as<const T>(), arrays[1].as<T>(), choice.shape.at("rows"),
                        choice.shape.at("iterations")};
    prumo::detail::launch_blocks(ctx.instance(), label, kernel);
  }

  /// The bytes of a call.
  static double chain_bytes(dtype type, const shape& extents) {
    return static_cast<double>(extents.at("rows") * (1 + results_per_row())) * static_cast<double>(dtype_size(type));
  }

 private:
  /// Rows that give every thread of the space the same number of blocks.
  static std::int64_t default_rows() {
    const auto threads = static_cast<double>(concurrency_of(Exec()));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(threads * Derived::rows_per_thread));
  }
};

}  // namespace prumo::cases
