// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/measure_options.hpp"
#include "plan/plan_options.hpp"
#include "plan/random_shapes.hpp"
#include "workers/fleet_options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// All options of `prumo bench`.
struct bench_options {
  fleet_options common;
  plan_options plan;
  measure_options measure;
  std::string output;  ///< empty: none; `-`: standard output
  std::string csv;
  std::string against;         ///< another build, whose workers are measured in turns with these; empty: none
  std::optional<double> gate;  ///< the share by which this build may be slower
  bool resume = false;
  bool force = false;        ///< replace older results
  bool anonymous = false;    ///< leave out who measured
  bool allow_mixed = false;  ///< resume even if builds, machine or settings have changed
  bool list_only = false;
  std::vector<std::string> command;     ///< the words of the command line, for the record
  std::string suite;                    ///< measured instead of what `plan` chooses; empty: none
  random_shapes shapes;                 ///< measured instead of the sizes of `plan`, if there are any
  std::vector<std::string> references;  ///< sets of published figures to show below the table
};

}  // namespace prumo::bench
