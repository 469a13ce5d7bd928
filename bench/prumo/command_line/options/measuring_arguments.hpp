// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/measure_options.hpp"
#include "command_line/options/cli11_declarations.hpp"

#include <string>

namespace prumo::bench {

/// The words of options that say how long and how carefully a verb measures, as they stand on the command line.
class measuring_arguments {
 public:
  /// `budget` is the default time budget as the help shows it.
  void add_to(CLI::App& app, const std::string& budget);
  /// Changes what the user named in `measure`, and leaves the rest as it is. \throws program_error (wrong usage)
  void read_into(measure_options& measure) const;

 private:
  std::string time_budget_, case_limit_, target_noise_, minimum_samples_, seed_;
  bool no_verify_ = false;
};

}  // namespace prumo::bench
