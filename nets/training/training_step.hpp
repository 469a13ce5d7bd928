// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What every way to take a step does with the counters, on host and device.

#include "step_way.hpp"
#include <prumo/nets/image_order.hpp>

#include <cstdint>

namespace prumo::nets {

/// The first thing of a step, for one thread.
KOKKOS_INLINE_FUNCTION void begin_step(training_counters& counters, std::int64_t steps_per_epoch) {
  if (counters.step == steps_per_epoch) {
    ++counters.epoch;
    counters.step = 0;
    counters.sums[0] = counters.sums[1] = 0;
  }
  counters.optimizer_step += 1;
}

/// The last thing of a step, for one thread.
KOKKOS_INLINE_FUNCTION void end_step(training_counters& counters) { ++counters.step; }

/// Which image of the set a step takes at a place.
struct image_choice {
  std::uint64_t seed;
  std::int64_t images;
  std::int64_t batch;
  bool shuffle;

  explicit image_choice(const training_task& task)
      : seed(task.options.seed), images(task.images), batch(task.options.batch), shuffle(task.options.shuffle) {}

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t epoch, std::int64_t step, std::int64_t place) const {
    const std::int64_t index = step * batch + place;
    return shuffle ? image_of(seed, static_cast<std::uint64_t>(epoch), index, images) : index;
  }
};

}  // namespace prumo::nets
