// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training/training_inputs.hpp"
#include "training/training_options.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace prumo::bench {

/// A training on one device, in one type, with steps of one number of images.
struct training_place {
  std::size_t device = 0;  ///< index in worker_fleet::devices()
  std::string dtype;
  std::int64_t batch = 0;
  std::optional<std::string> implementation = std::nullopt;  ///< without one, the first that the worker lists
};

/// The entry of a results file that is known before anything is trained.
[[nodiscard]] nlohmann::json training_result_stub(const worker_fleet& fleet, const training_inputs& inputs,
                                                  const training_recipe& recipe, const training_place& place);

/// What an epoch took and what it reached.
struct epoch_record {
  std::int64_t epoch = 0;     ///< from 1 up
  double train_s = 0;         ///< seconds of its steps
  double wall_s = 0;          ///< the same by the wall's clock
  double total_s = 0;         ///< from the beginning of the training to the end of this epoch's evaluation
  double train_loss = 0;      ///< the mean of its images, each at its own step
  double train_accuracy = 0;  ///< the same
  std::optional<double> test_loss;
  double test_accuracy = 0;
  std::optional<double> energy_j;  ///< of its steps
};

/// Adds the epochs that ended to a result, and after how many seconds of steps the net reached each accuracy that is
/// told, and `until`.
void add_epochs(nlohmann::json& result, std::span<const epoch_record> epochs, std::optional<double> until);

/// Marks a result as measured, and adds the statistics of an epoch: seconds, images a second, and joules if each epoch
/// knows its own.
/// \param epochs at least one
/// \param clock what the workers' seconds are of: "device" or "wall"
void add_epoch_statistics(nlohmann::json& result, std::span<const epoch_record> epochs, double train_images,
                          const std::string& clock, bool interrupted);

}  // namespace prumo::bench
