// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/bench_options.hpp"
#include "terminal/program_error.hpp"
#include "training/training_inputs.hpp"
#include "training/training_options.hpp"

namespace prumo::bench {

/// All options of `prumo train`.
struct train_options {
  bench_options bench;  ///< what it shares with `prumo bench`: devices, files
  training_choice choice;
  training_plan plan;
  bool loss_chosen = false, optimizer_chosen = false, rate_chosen = false;
  bool plot = false;  ///< curves follow the table
};

/// Trains a net, writes checkpoints and the results file, prints a line an epoch and the table.
/// \throws program_error, file_error, worker_failure
[[nodiscard]] exit_code run_train(train_options options);

}  // namespace prumo::bench
