// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/plan.hpp"
#include "plan/plan_options.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prumo::bench {

/// Shapes that nobody tuned for.
struct random_shapes {
  std::size_t count = 0;  ///< of cases, shared out to the operations
  std::uint64_t seed = 1;
};

/// Limits of a case: few enough bytes and operations for every device, and enough to be more than a launch.
struct random_shape_limits {
  static constexpr double least_bytes = 1024;  ///< of all arrays together
  static constexpr double most_bytes = 256.0 * 1024 * 1024;
  static constexpr double most_flops = 16e9;
};

/// A whole number that is distributed as numbers with a uniform logarithm are, to within a factor of two: a uniform
/// number of bits, at most `most_bits`, in front of uniform ones. It depends on the arguments alone, and is the same on
/// every machine.
[[nodiscard]] std::uint64_t random_extent(std::uint64_t seed, std::string_view op, std::uint64_t number,
                                          std::uint64_t draw, int most_bits);

/// The cases as groups. The operations take turns. An operation's cases do not depend on which others are chosen.
/// Where `common` names no types, each case has one of f32, f16 and bf16; where it names no cache states, half of the
/// cases are cold. Data are resident if it does not say.
/// \throws program_error if nothing is left; worker_failure, interrupted
[[nodiscard]] bench_plan make_random_plan(const random_shapes& which, const plan_options& common, worker_fleet& fleet);

}  // namespace prumo::bench
