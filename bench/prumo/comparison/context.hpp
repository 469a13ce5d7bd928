// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"

#include <string>
#include <vector>

namespace prumo::bench {

/// Something other than the cases in which the sides of a comparison differ.
struct context_difference {
  std::string what;                 ///< `compiler`, `OMP_PROC_BIND`, `power limit`
  std::vector<std::string> values;  ///< one a side; what the files of one side do not agree on is joined by ` / `
};

/// How the circumstances of the sides differ, the most important first: machine, power and throttling, versions,
/// compiler and flags, driver and libraries, threads, environment, clocks, system. A value that one side does not know
/// is no difference. Measured clocks differ if they are more than 2 % apart. Where the sides are different devices,
/// only what a user can choose is listed, so their clocks are not.
[[nodiscard]] std::vector<context_difference> context_differences(const comparison& of);

/// The device of a side for people: `AMD EPYC, 2 threads, on node7`.
[[nodiscard]] std::string describe_device(const comparison_source& source, const std::string& device);

/// True where two files describe the same device of the same machine, as far as they tell: id, names of the device, of
/// the processor and of the host.
[[nodiscard]] bool is_same_device(const comparison_source& a, const comparison_source& b, const std::string& device);

/// The entry of `devices` with this id; null where there is none.
[[nodiscard]] const nlohmann::json& device_entry(const comparison_source& source, const std::string& device);

}  // namespace prumo::bench
