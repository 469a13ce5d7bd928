// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/training_result.hpp"

#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "statistics/statistics.hpp"
#include "training/training_note.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Shares of the test images of which the time is told.
constexpr std::array told_accuracies{0.9, 0.95, 0.98, 0.99, 0.995};

/// Seconds of steps until the net had the accuracy at an epoch's end.
std::optional<double> seconds_to(std::span<const epoch_record> epochs, double accuracy) {
  double seconds = 0;
  for (const epoch_record& it : epochs) {
    seconds += it.train_s;
    if (it.test_accuracy >= accuracy) return seconds;
  }
  return std::nullopt;
}

}  // namespace

json training_result_stub(const worker_fleet& fleet, const training_inputs& inputs, const training_recipe& recipe,
                          const training_place& place) {
  const fleet_device& device = fleet.devices()[place.device];
  json result = blank_result();
  result["kind"] = "training";
  result["op"] = fmt::format("{}/training/{}/{}", inputs.net().description.name, recipe.loss, recipe.optimizer);
  result["dtype"] = place.dtype;
  result["shape"] = {{"images", place.batch}};
  result["parameters"] = {
      {"learning_rate", recipe.learning_rate}, {"seed", recipe.seed}, {"shuffle", recipe.shuffle ? 1 : 0}};
  if (recipe.optimizer == "momentum") result["parameters"]["momentum"] = recipe.momentum;
  result["device"] = device.id;
  if (device.threads) result["threads"] = *device.threads;
  if (place.implementation) result["implementation"] = *place.implementation;
  result["net"] = inputs.net().description.name;
  result["data_sha256"] = inputs.data_sha256();
  result["options"] = {{"loss", recipe.loss},
                       {"optimizer", recipe.optimizer},
                       {"learning_rate", recipe.learning_rate},
                       {"momentum", recipe.optimizer == "momentum" ? json(recipe.momentum) : json()},
                       {"batch", place.batch},
                       {"seed", recipe.seed},
                       {"shuffle", recipe.shuffle},
                       {"initial_weights_sha256", inputs.weights_sha256()}};
  result["key"] = result_key(result);
  return result;
}

void add_epochs(json& result, std::span<const epoch_record> epochs, std::optional<double> until) {
  for (const epoch_record& it : epochs) result["epochs"].push_back(epoch_entry(it));
  std::set<double> accuracies(told_accuracies.begin(), told_accuracies.end());
  if (until) accuracies.insert(*until);
  for (const double it : accuracies) {
    const auto seconds = seconds_to(epochs, it);
    if (seconds) result["time_to"].push_back({{"accuracy", it}, {"seconds", *seconds}});
  }
}

void add_epoch_statistics(json& result, std::span<const epoch_record> epochs, double train_images,
                          const std::string& clock, bool interrupted) {
  std::vector<double> samples, wall, energies;
  for (const epoch_record& it : epochs) {
    samples.push_back(it.train_s);
    wall.push_back(it.wall_s);
    if (it.energy_j) energies.push_back(*it.energy_j);
  }
  const sample_summary summary = summarize(samples);
  result["status"] = "ok";
  result["reason"] = nullptr;
  result["time_s"] = {{"median", summary.median},
                      {"p25", summary.p25},
                      {"p75", summary.p75},
                      {"samples", samples},
                      {"stop", interrupted ? "interrupted" : "budget"},
                      {"clock", clock}};
  result["wall_s"] = median_or_null(wall);
  result["rates"]["gelements"] = train_images / summary.median * 1e-9;
  if (energies.size() == epochs.size()) result["energy_j"] = median_or_null(energies);
}

}  // namespace prumo::bench
