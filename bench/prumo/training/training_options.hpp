// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// How a net is trained.
struct training_recipe {
  std::string loss = "softmax";
  std::string optimizer = "momentum";
  double learning_rate = 0;
  double momentum = 0.9;
  std::uint64_t seed = 1;
  bool shuffle = true;
};

/// What is trained, and for how long.
struct training_plan {
  training_recipe recipe;
  std::vector<std::int64_t> batches;
  std::vector<std::string> dtypes;
  std::vector<std::string> implementations;  ///< by name, or `all`; empty: each worker's first
  std::int64_t epochs = 0;                   ///< at most
  std::optional<double> until;               ///< the share of the test images at which a training is done
  bool verify = true;
  std::string checkpoint;          ///< a file; empty: none
  double checkpoint_seconds = 60;  ///< of training between two writes of it
  bool resume = false;             ///< go on from the checkpoint, if there is one
  bool allow_mixed = false;        ///< even if another build, device or way wrote it
  std::string weights;             ///< where the final weights are written; empty: nowhere
  std::string weights_dtype;       ///< the type that they are rounded to; empty: that of the training
};

}  // namespace prumo::bench
