// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/bench_options.hpp"
#include "terminal/program_error.hpp"

namespace prumo::bench {

/// Measures a plan, writes the results file, prints the table.
/// \throws program_error, file_error, worker_failure
[[nodiscard]] exit_code run_bench(const bench_options& options);

}  // namespace prumo::bench
