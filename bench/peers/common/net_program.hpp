// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "scalars.hpp"
#include <prumo/data/net_file.hpp>
#include <prumo/data/safetensors.hpp>

#include <cstddef>
#include <cstdint>

namespace prumo::peers {

/// What a framework makes of a net: a step for each layer. Arrays are of the type that it was made for.
class net_program {
 public:
  virtual ~net_program() = default;

  /// Runs a step on `images`, at most the batch that the program was made for. Step 0 takes x [images x pixels], and each
  /// other step what the step before left. The last one writes y [images x classes].
  virtual void run_step(std::size_t step, const void* x, void* y, std::int64_t images) = 0;
};

/// What a net is made from. The weights have been rounded to the type.
struct net_choice {
  const data::net& net;
  const data::net_weights& weights;
  dtype type;
  std::int64_t batch;
};

}  // namespace prumo::peers
