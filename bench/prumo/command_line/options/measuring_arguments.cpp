// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/measuring_arguments.hpp"

#include "command_line/options/option_values.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <limits>

namespace prumo::bench {
namespace {

constexpr std::uint64_t most_samples = 1'000'000;

double read_budget(const std::string& text) {
  if (text == "none") return std::numeric_limits<double>::infinity();
  return read_quantity("--time-budget", [&] { return parse_duration(text); });
}

}  // namespace

void measuring_arguments::add_to(CLI::App& app, const std::string& budget) {
  app.add_option("--time-budget", time_budget_,
                 fmt::format("time for the whole run (default {}); none for no limit", budget))
      ->type_name("DURATION")
      ->group("How long");
  app.add_option("--case-limit", case_limit_, "longest time for one case (default 10s)")
      ->type_name("DURATION")
      ->group("How long");
  app.add_option(
         "--target-noise", target_noise_,
         "stop when the median is known to within this share, with 95% confidence (default 0.25% on GPUs, 1% on CPUs), "
         "or when the noise no longer changes and the time left cannot bring it there")
      ->type_name("PERCENT")
      ->group("How long");
  app.add_option("--min-samples", minimum_samples_, "smallest number of samples for judging the spread (default 10)")
      ->type_name("N")
      ->group("How long");
  app.add_option("--seed", seed_, "seed of the generated data and of random shapes (default 1)")
      ->type_name("N")
      ->group("How");
  app.add_flag("--no-verify", no_verify_, "do not compare results with the reference")->group("How");
}

void measuring_arguments::read_into(measure_options& measure) const {
  if (!time_budget_.empty()) measure.budget_seconds = read_budget(time_budget_);
  if (!case_limit_.empty()) {
    measure.case_limit_seconds = read_quantity("--case-limit", [&] { return parse_duration(case_limit_); });
  }
  if (!target_noise_.empty()) {
    measure.target_noise = read_quantity("--target-noise", [&] { return parse_percentage(target_noise_); });
  }
  if (!minimum_samples_.empty()) {
    measure.minimum_samples = read_whole_number("--min-samples", minimum_samples_, 1, most_samples);
  }
  if (!seed_.empty()) {
    measure.seed = read_whole_number("--seed", seed_, 0, std::numeric_limits<std::uint64_t>::max());
  }
  measure.verify = !no_verify_;
}

}  // namespace prumo::bench
