// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics/gate.hpp"

#include <algorithm>

namespace prumo::bench {

std::string_view to_string(gate_outcome which) {
  switch (which) {
    case gate_outcome::passed: return "passed";
    case gate_outcome::failed: return "failed";
    case gate_outcome::inconclusive: break;
  }
  return "inconclusive";
}

bool rules_out_slower(const judgement& of) {
  return of.which == verdict::same || of.which == verdict::faster || of.not_slower;
}

gate_outcome gate_of(std::span<const judgement> judgements) {
  if (std::ranges::any_of(judgements, [](const judgement& it) { return it.which == verdict::slower; })) {
    return gate_outcome::failed;
  }
  return std::ranges::all_of(judgements, rules_out_slower) ? gate_outcome::passed : gate_outcome::inconclusive;
}

}  // namespace prumo::bench
