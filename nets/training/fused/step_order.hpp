// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training_step.hpp"

#include <cstdint>

namespace prumo::nets {

/// Which images the steps of a launch take.
struct step_order_kernel {
  image_choice choice;
  const training_counters* counters;
  std::int64_t steps_per_epoch;
  std::int64_t first_step;
  std::int64_t count;
  std::int32_t* order;

  std::int64_t blocks() const { return count; }
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const std::int64_t epoch = counters->epoch + (counters->step == steps_per_epoch ? 1 : 0);
    order[place] = static_cast<std::int32_t>(choice(epoch, first_step, place));
  }
};

}  // namespace prumo::nets
