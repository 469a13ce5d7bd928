// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/verdict.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// What a file says about samples that it does not contain. Seconds.
struct sample_moments {
  double mean = 0;
  double standard_deviation = 0;
  std::size_t count = 0;
};

/// One result of a file: a case on a device by an implementation.
struct measurement {
  /// The fields of docs/results.md. For a foreign benchmark the kind is `foreign`, `op` is its name and `case` are its
  /// arguments. What its file does not say is null.
  nlohmann::json result;
  std::size_t device = 0;  ///< place in the source's devices
  process_runs runs;       ///< seconds of a call; empty if nothing was measured, or if the file has only moments
  std::optional<sample_moments> moments;  ///< if there are no samples
  bool published = false;                 ///< a figure from a publication: one value, no samples
  std::set<std::string> throttle;         ///< why the device held its clock down meanwhile, as far as its file tells

  /// The median of the samples, or else the mean, or else the published figure, in seconds; absent if nothing was
  /// measured.
  [[nodiscard]] std::optional<double> seconds() const;

  /// The text of a field of `result`, which a JSON pointer such as `/device` names; empty if it has none.
  [[nodiscard]] std::string text(const char* pointer) const;

  /// True if the case was measured and has a time.
  [[nodiscard]] bool ran() const;
};

/// A file of measurements in any of the formats that can be read.
struct comparison_source {
  std::string name;    ///< its path, as the user gave it
  std::string format;  ///< `prumo.results/1`, `nvbench`, `Google Benchmark`
  nlohmann::json run = nlohmann::json::object();
  std::vector<nlohmann::json> devices;
  std::vector<measurement> rows;
  std::vector<std::string> notes;  ///< what the user should know: results given twice, ...
};

/// A results document (docs/results.md) as a source. If a result is given twice, the last one counts, with a note.
/// \param document one that follows the schema
[[nodiscard]] comparison_source source_of_results(nlohmann::json document, std::string name);

/// Text in one of the formats that can be read. Files that belong to an nvbench document are looked for in `folder`.
/// \throws file_error for text that is empty, truncated, broken (with line and column), of a newer version or of an
///         unknown format, and for one in which nothing was measured
[[nodiscard]] comparison_source read_source(std::string_view text, const std::string& name, const std::string& folder);

/// A file in one of the formats that can be read; `-` is standard input.
/// \throws file_error as read_source(), and if the file cannot be read
[[nodiscard]] comparison_source load_source(const std::string& path);

/// The same source without the names of hosts and users: what is made of it can be published (privacy/anonymous.hpp).
[[nodiscard]] comparison_source anonymized(comparison_source source);

}  // namespace prumo::bench
