// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/interrupted_training.hpp"

#include "results/result_fields.hpp"
#include "terminal/plural.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace prumo::bench {
namespace {

using nlohmann::json;

std::string finished_epochs(std::size_t epochs, std::size_t trainings) {
  if (epochs == 0) return "no epoch is finished";
  if (trainings == 1) return plural(epochs, "epoch is finished", "epochs are finished");
  return fmt::format("{} of {} trainings are finished", plural(epochs, "epoch", "epochs"), trainings);
}

}  // namespace

std::vector<std::string> kept_when_interrupted(std::span<const json> results, const std::string& results_file,
                                               const std::string& checkpoint, checkpoint_state state) {
  std::size_t epochs = 0, trainings = 0, whole = 0;
  for (const json& it : results) {
    const json& of_training = field(it, "/epochs");
    if (of_training.empty()) continue;
    epochs += of_training.size();
    ++trainings;
    if (text_of(field(it, "/time_s/stop")) == "budget") ++whole;
  }
  std::vector<std::string> lines{finished_epochs(epochs, trainings)};
  if (!results_file.empty() && epochs > 0) lines.front() += fmt::format("; the results are in {}", results_file);
  if (state == checkpoint_state::current) {
    lines.push_back(fmt::format(
        "the checkpoint {} has every step so far; the same command with --resume goes on from it", checkpoint));
  } else if (state == checkpoint_state::earlier) {
    lines.push_back(
        fmt::format("the checkpoint {} is older than the latest steps; the same command with --resume goes on from it",
                    checkpoint));
  } else if (!results_file.empty() && whole > 0) {
    lines.push_back(fmt::format("the same command with --resume keeps {} and begins the others anew",
                                plural(whole, "training that is whole", "trainings that are whole")));
  } else if (checkpoint.empty()) {
    lines.emplace_back("its weights are lost, because only --checkpoint FILE keeps what a training needs to go on");
  }
  return lines;
}

}  // namespace prumo::bench
