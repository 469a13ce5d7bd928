// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/compared_state.hpp"
#include "comparison/source.hpp"
#include "statistics/verdict.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// What is compared.
enum class comparison_mode {
  versions,  ///< two sides, before and after, of the same devices
  devices    ///< a side for each device, relative to one of them
};

/// A column of a comparison.
struct comparison_side {
  std::string label;  ///< `before`, `openmp:0`, `openmp:0 node7`; different for each side
  std::vector<const comparison_source*> sources;
  std::string device;          ///< id; empty: all of the sources
  std::string implementation;  ///< empty: any
};

/// A case on one side: one measurement for each file, or none if it was not measured there.
using case_cell = std::vector<const measurement*>;

/// The outcome of comparing a side with the base.
struct case_outcome {
  std::string refusal;              ///< why the two cannot be compared; empty: they can
  std::optional<judgement> judged;  ///< time of the side over time of the base; absent without a verdict
  std::optional<double> ratio;      ///< the same ratio, also without a verdict, as for published figures
  bool from_moments = false;        ///< the interval comes from means and standard deviations, not from samples
};

/// A case on all sides.
struct compared_case {
  std::string key;
  std::string device;          ///< in comparisons of versions
  std::string implementation;  ///< likewise; `cblas -> portable` where the sides ran different ones
  std::vector<case_cell> cells;
  std::vector<case_outcome> outcomes;  ///< one for each side; the base's is empty

  /// A result of this case, for its fields.
  [[nodiscard]] const nlohmann::json& result() const;
};

/// A case that only one side measured, or none.
struct lonely_case {
  compared_case what;
  std::string side;    ///< label of the one that has it; empty: it was measured on none
  std::string reason;  ///< `another cache: cold in a.json, hot in b.json`, `skipped in b.json: ...`, `only in a.json`
};

/// Sides, and the cases that they share.
struct comparison {
  comparison_mode mode = comparison_mode::versions;
  compared_state state = compared_state::turns;  ///< whose times the measurements have
  std::vector<comparison_side> sides;
  std::size_t base = 0;              ///< the side to which ratios refer
  std::vector<compared_case> cases;  ///< cases that two sides or more measured, or tried and failed
  std::vector<lonely_case> lonely;
  std::vector<std::string> notes;  ///< what was chosen, and what the reader should know
};

/// The figures of a cell: medians over its files. Absent if no file has them.
struct cell_figures {
  std::optional<double> seconds, gbytes, gflops, gelements;  ///< rates in 10^9 a second
  std::optional<double> roofline, peak;                      ///< percent
  std::optional<double> energy;                              ///< joules of a call
  std::optional<double> clock_mhz;                           ///< of the device during the samples
  std::set<std::string> throttle;                            ///< why it was held down in any of the files
  bool published = false;
};

[[nodiscard]] cell_figures figures_of(const case_cell& cell);

/// True if the case was measured, or was tried and failed. False if it was skipped or is not supported.
[[nodiscard]] bool was_tried(const case_cell& cell);

/// The measurement that represents a cell: the first one that ran, or else the first one; null if there is none.
[[nodiscard]] const measurement* representative(const case_cell& cell);

/// Why two cells of one case cannot be compared; empty if they can.
[[nodiscard]] std::string refusal_of(const comparison_side& base, const case_cell& of_base, const comparison_side& side,
                                     const case_cell& of_side);

/// Joins the cases of two sides by key, device and implementation. An implementation that only one side has is matched
/// with the only one that is left on the other side, with a note.
[[nodiscard]] comparison join_versions(comparison_side before, comparison_side after);

/// Joins the cases of several sides by key. Of several implementations of a case on one side the fastest correct one
/// counts, with a note. Sides that share no case are left out.
/// \param base place of the base among `sides`; absent: the first that shares a case. No case is shared if the base
///        shares none
[[nodiscard]] comparison join_devices(std::vector<comparison_side> sides, std::optional<std::size_t> base);

/// Fills in the outcomes. `interleaved`: run number i of all sides was measured in turns.
void judge_cases(comparison& of, const judge_options& options, bool interleaved = false);

/// How many cases had each verdict, over all sides but the base.
struct verdict_counts {
  std::size_t same = 0, faster = 0, slower = 0, unclear = 0;
  std::size_t not_slower = 0;  ///< of the unclear ones: shown not to be slower by more than the margin
  std::size_t refused = 0;     ///< cannot be compared
  std::size_t broke = 0;       ///< ran, and right, on the base's side, and failed or wrong here
  std::size_t unjudged = 0;    ///< compared without a verdict: published figures, or not measured on a side
};

[[nodiscard]] verdict_counts count_verdicts(const comparison& of);

/// True where the base measured a case and the side failed or went wrong.
[[nodiscard]] bool broke(const case_cell& of_base, const case_cell& of_side);

}  // namespace prumo::bench
