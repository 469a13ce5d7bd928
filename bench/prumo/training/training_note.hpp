// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training/training_result.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// What a checkpoint keeps of a training beside the worker's part, so that a run that goes on tells of all epochs.
struct training_note {
  std::vector<epoch_record> epochs;
  epoch_record current;
  bool knows_energy = true;
  double test_seconds = 0;
  nlohmann::json accuracy;
  std::string weights_sha256;
};

/// The entry of an epoch in a results file.
[[nodiscard]] nlohmann::json epoch_entry(const epoch_record& epoch);

[[nodiscard]] std::string training_note_text(const training_note& note);

/// \param name of the checkpoint, for the message
/// \throws file_error where the text is no such note
[[nodiscard]] training_note parse_training_note(std::string_view text, std::string_view name);

}  // namespace prumo::bench
