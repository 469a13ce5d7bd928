// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "scalars.hpp"
#include <prumo/inference/training_setup.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace prumo::peers {

/// What a step adds to the sums of its epoch.
struct step_sums {
  double loss = 0;
  std::int64_t correct = 0;
};

/// What a framework makes of a net that learns. It keeps weights and the optimizer's arrays, in the type that it was
/// made for.
class training_program {
 public:
  virtual ~training_program() = default;

  /// Takes a step.
  /// \param images of the training set, by number: at most the batch that the program was made for
  /// \param number of the step, from 1 up, since the training began
  virtual step_sums take_step(std::span<const std::int64_t> images, std::int64_t number) = 0;

  /// Weights and the optimizer's arrays; nothing else of a state is set.
  virtual nets::training_state state() const = 0;
  /// The other way round. Arrays of the optimizer that are empty become zero.
  virtual void restore(const nets::training_state& from) = 0;

  /// Scores of images, or results for the loss `squared`: [images x classes].
  virtual std::vector<double> scores(std::span<const std::uint8_t> pixels, std::int64_t images) = 0;
};

}  // namespace prumo::peers
