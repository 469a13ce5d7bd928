// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace prumo::bench {

/// How cases are measured.
struct measure_options {
  double budget_seconds = 120;         ///< of the whole run; infinite: none
  double case_limit_seconds = 10;      ///< the longest time for one case, even if time is left
  std::optional<double> target_noise;  ///< relative inter-quartile range; absent: 0.5 % for GPUs, 2 % for CPUs
  std::size_t minimum_samples = 10;
  double minimum_seconds = 0.1;  ///< of samples for each case
  std::uint64_t seed = 1;
  bool verify = true;
  bool probe_ceilings = true;
  double count_limit = 1e7;      ///< operations up to which counted flops come from running the kernel
  std::size_t process_runs = 1;  ///< how many times everything is measured by fresh worker processes
};

}  // namespace prumo::bench
