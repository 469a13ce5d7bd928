// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/source.hpp"

#include <string_view>
#include <vector>

namespace prumo::bench {

/// Which samples of a case are compared (docs/results.md, "Burst and sustained").
enum class compared_state {
  turns,     ///< those measured in turns with other cases: `time_s`
  burst,     ///< those of short work after idling
  sustained  ///< those taken after the device has worked at the case alone for seconds
};

/// `turns`, `burst`, `sustained`.
[[nodiscard]] std::string_view to_string(compared_state state);

/// What the samples of a state are, for the head of a table: `measured in short work after idling`.
[[nodiscard]] std::string_view describe(compared_state state);

/// Puts the times of a state in place of those measured in turns, and with them rates, shares, energy, clock and
/// throttling. Shares still refer to the ceilings of the result, which were probed in turns. Results without the state
/// become skipped ones with that reason, and a note of each source tells how many there are. `turns` changes nothing.
/// \throws program_error (wrong usage) if no result has the state
void take_state(std::vector<comparison_source>& sources, compared_state state);

}  // namespace prumo::bench
