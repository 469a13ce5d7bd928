// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_way.hpp"

#include <vector>

namespace prumo::nets {

template <class Exec>
std::span<const step_candidate<Exec>> step_candidates() {
  static const std::vector<step_candidate<Exec>> all = {persistent_candidate<Exec>(), fused_candidate<Exec>(),
                                                        layers_candidate<Exec>()};
  return all;
}

#define PRUMO_INSTANTIATE_WAYS(Space) template std::span<const step_candidate<Space>> step_candidates<Space>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_WAYS)
#undef PRUMO_INSTANTIATE_WAYS

}  // namespace prumo::nets
