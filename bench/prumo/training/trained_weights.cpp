// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/trained_weights.hpp"

#include <prumo/data/checkpoint.hpp>
#include <prumo/files/file_error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace prumo::bench {
namespace {

/// The arrays of a file; none if it holds no arrays.
data::tensor_file tensors_if_any(const std::string& path) {
  try {
    return data::read_tensors(path);
  } catch (const file_error& error) {
    if (error.why() == file_error::cause::io) throw;
    return {};
  }
}

}  // namespace

void check_written_by_training(const std::string& path, bool is_checkpoint) {
  const data::tensor_file there = tensors_if_any(path);
  const bool is_own = is_checkpoint ? data::is_checkpoint(there) : there.metadata.contains("initial_weights_sha256");
  if (is_own) return;
  refuse_file(path, fmt::format("holds no {}, so it is not overwritten; move it away or name another file",
                                is_checkpoint ? "checkpoint of a training" : "weights that `prumo train` wrote"));
}

bool round_weights(data::tensor_file& file, const std::string& dtype, const std::string& path) {
  if (dtype.empty()) return false;
  std::string type = dtype;
  std::ranges::transform(type, type.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  bool changed = false;
  for (data::tensor& it : file.tensors) {
    if (it.type == type) continue;
    try {
      it = data::in_type(it, type);
    } catch (const std::invalid_argument& cause) {
      refuse_file(path, fmt::format("cannot be written in {}: {}", dtype, cause.what()));
    }
    changed = true;
  }
  return changed;
}

std::map<std::string, std::string> notes_of_weights(const training_inputs& inputs, const training_recipe& recipe,
                                                    const training_place& place, std::size_t epochs) {
  std::map<std::string, std::string> notes{{"net", inputs.net().description.name},
                                           {"data_sha256", inputs.data_sha256()},
                                           {"test_images", std::to_string(inputs.test_images())},
                                           {"initial_weights_sha256", inputs.weights_sha256()},
                                           {"pixels", "byte / 255"},
                                           {"epochs", std::to_string(epochs)},
                                           {"batch", std::to_string(place.batch)},
                                           {"dtype", place.dtype},
                                           {"loss", recipe.loss},
                                           {"optimizer", recipe.optimizer},
                                           {"learning_rate", fmt::format("{}", recipe.learning_rate)},
                                           {"seed", std::to_string(recipe.seed)},
                                           {"shuffle", recipe.shuffle ? "true" : "false"}};
  if (recipe.optimizer == "momentum") notes["momentum"] = fmt::format("{}", recipe.momentum);
  if (inputs.draws_digits()) notes["data"] = "digits";
  return notes;
}

}  // namespace prumo::bench
