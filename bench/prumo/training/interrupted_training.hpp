// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// What the checkpoint of a run holds.
enum class checkpoint_state {
  none,     ///< nothing of this training: none was named, or none was written
  earlier,  ///< a state before the latest steps
  current   ///< every step that was made
};

/// What a run that the user stopped has kept, and how to go on: sentences for the user.
/// \param results those of the run so far
/// \param results_file holds them; empty: no file does
/// \param checkpoint the file that was named; empty: none
[[nodiscard]] std::vector<std::string> kept_when_interrupted(std::span<const nlohmann::json> results,
                                                             const std::string& results_file,
                                                             const std::string& checkpoint, checkpoint_state state);

}  // namespace prumo::bench
