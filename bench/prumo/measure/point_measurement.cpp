// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/point_measurement.hpp"

#include "measure/finished_results.hpp"
#include "plan/plan.hpp"
#include "results/result_fields.hpp"

#include <optional>
#include <utility>

namespace prumo::bench {
namespace {

measure_options times_alone(measure_options options) {
  options.probe_ceilings = false;
  options.states = state_choice::none;
  return options;
}

}  // namespace

point_measurer::point_measurer(worker_fleet& fleet, results_writer& writer, measure_options options,
                               std::function<void(const std::string&)> on_step)
    : fleet_(fleet),
      writer_(writer),
      options_(times_alone(options)),
      on_step_(std::move(on_step)),
      times_(fleet),
      ceilings_(fleet, options_),
      measurer_(fleet, times_, ceilings_) {}

std::vector<nlohmann::json> point_measurer::measure(const plan_options& what, double case_seconds,
                                                    steady_time deadline) {
  group_setting setting;
  setting.options = options_;
  setting.deadline = deadline;
  setting.case_seconds = case_seconds;
  setting.on_step = on_step_;
  std::vector<nlohmann::json> entries;
  const bench_plan plan = make_plan(what, fleet_);
  for (const planned_group& group : plan.groups) {
    std::vector<measured_case> measured = measurer_.measure(group, setting);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      entries.push_back(finished_result(group, group.cases[i], std::move(measured[i].result), fleet_, ceilings_));
      writer_.add(entries.back());
    }
  }
  writer_.end_group();
  return entries;
}

std::optional<double> waiting_seconds(const nlohmann::json& result) {
  if (field(result, "/status") != "ok") return std::nullopt;
  const auto wall = number_of(field(result, "/wall_s"));
  return wall ? wall : number_of(field(result, "/time_s/median"));
}

}  // namespace prumo::bench
