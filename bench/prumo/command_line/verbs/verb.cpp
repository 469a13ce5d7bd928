// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/verbs/verb.hpp"

#include <array>

namespace prumo::bench {

std::span<const verb* const> verbs() {
  static constexpr std::array all{&bench_verb,   &infer_verb,    &train_verb,     &compare_verb,
                                  &devices_verb, &roofline_verb, &crossover_verb, &data_verb};
  return all;
}

}  // namespace prumo::bench
