// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bench_options.hpp"
#include "program_error.hpp"

namespace prumo::bench {

/// `prumo bench`: measures a plan, writes the results file, prints the table.
/// \throws program_error, results_error, worker_failure
[[nodiscard]] exit_code run_bench(const bench_options& options);

/// `prumo devices`: what is here and what it could do.
/// \throws program_error, results_error, worker_failure
[[nodiscard]] exit_code run_devices(const devices_options& options);

}  // namespace prumo::bench
