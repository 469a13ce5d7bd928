// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The file of weights that `prumo train --weights` writes: its type, and what it says about itself (docs/data.md).

#include "training/open_training.hpp"
#include "training/training_inputs.hpp"
#include "training/training_options.hpp"
#include <prumo/data/safetensors.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace prumo::bench {

/// Rounds all arrays to a type of `--weights-dtype`, such as `f16`. An empty type leaves them as they are.
/// \param path names the file in messages
/// \return whether an array changed
/// \throws file_error for a number that the type cannot hold
bool round_weights(data::tensor_file& file, const std::string& dtype, const std::string& path);

/// What the weights of a training say about themselves: the net, its data, how it was trained, for how many epochs.
[[nodiscard]] std::map<std::string, std::string> notes_of_weights(const training_inputs& inputs,
                                                                  const training_recipe& recipe,
                                                                  const training_place& place, std::size_t epochs);

/// Refuses to replace a file that no training wrote: it may be someone's only copy.
/// \param is_checkpoint whether a checkpoint takes its place, or else final weights
/// \throws file_error
void check_written_by_training(const std::string& path, bool is_checkpoint);

}  // namespace prumo::bench
