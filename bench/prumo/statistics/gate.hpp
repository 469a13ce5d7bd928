// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/verdict.hpp"

#include <span>
#include <string_view>

namespace prumo::bench {

/// The answer of a gate: may a case be slower than before by more than the margin?
enum class gate_outcome {
  passed,       ///< no: the evidence rules it out for every case
  failed,       ///< yes: a case is slower, or broke
  inconclusive  ///< the evidence allows both
};

/// `passed`, `failed`, `inconclusive`.
[[nodiscard]] std::string_view to_string(gate_outcome which);

/// True if the evidence rules out that a case is slower by more than the margin. Here no correction for the number of
/// cases is needed: a gate passes wrongly only if every slower case is missed (an intersection-union test, Berger,
/// Technometrics 24, 1982).
[[nodiscard]] bool rules_out_slower(const judgement& of);

/// The answer for cases that were all judged: `failed` if one of them is slower, `passed` if none can be.
[[nodiscard]] gate_outcome gate_of(std::span<const judgement> judgements);

}  // namespace prumo::bench
