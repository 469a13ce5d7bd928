// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace prumo::nets {

/// What a launch of steps does.
enum class step_part : int {
  all,     ///< whole steps; several teams meet
  images,  ///< the images of one step
  update,  ///< the weights after one step
};

/// A team's place among those of a launch.
struct step_league {
  int rank;
  int size;
};

}  // namespace prumo::nets
