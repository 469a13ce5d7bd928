// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/results_arguments.hpp"

#include "command_line/options/option_values.hpp"
#include <prumo/files/file_identity.hpp>

#include <CLI/CLI.hpp>

namespace prumo::bench {

void results_arguments::add_to(CLI::App& app, const descriptions& texts) {
  add_output(app, "-o,--output", output_, "write the results (JSON) to this file; - is standard output");
  add_output(app, "--csv", csv_, "also write the results as CSV, for spreadsheets");
  add_anonymous(app, anonymous_);
  CLI::Option* force = add_force(app, force_);
  CLI::Option* resume = app.add_flag("--resume", resume_, texts.resume)->excludes(force)->group("Output");
  app.add_flag("--allow-mixed", allow_mixed_, texts.allow_mixed)->needs(resume)->group("Output");
  app.add_flag("--list", list_, texts.list)->group("Output");
}

void results_arguments::read_into(bench_options& options) const {
  options.output = output_;
  options.csv = csv_;
  options.resume = resume_;
  options.force = force_;
  options.anonymous = anonymous_;
  options.allow_mixed = allow_mixed_;
  options.list_only = list_;
}

bool results_arguments::has_file() const { return !output_.empty() && !is_standard_output(output_); }

void results_arguments::check_resume() const {
  if (!resume_ || has_file()) return;
  throw program_error(exit_code::wrong_usage, "--resume needs the results file to continue: name it with -o FILE");
}

}  // namespace prumo::bench
