// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/bench_options.hpp"
#include "inference/inference_options.hpp"
#include "inference/net_inputs.hpp"
#include "terminal/program_error.hpp"

namespace prumo::bench {

/// All options of `prumo infer`.
struct infer_options {
  bench_options bench;  ///< what it shares with `prumo bench`: devices, times, files
  net_choice choice;
  inference_plan plan;
};

/// Measures a net, writes the results file, prints the table.
/// \throws program_error, file_error, worker_failure
[[nodiscard]] exit_code run_infer(const infer_options& options);

}  // namespace prumo::bench
