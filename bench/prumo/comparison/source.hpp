// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "statistics/verdict.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// What a file tells of samples that it does not hold. Seconds.
struct sample_moments {
  double mean = 0;
  double standard_deviation = 0;
  std::size_t count = 0;
};

/// One result of a file: a case on a device by an implementation.
struct measurement {
  /// The fields of docs/results.md. Of a foreign benchmark the kind is `foreign`, `op` its name, `case` its arguments,
  /// and what its file does not tell is null.
  nlohmann::json result;
  std::size_t device = 0;                 ///< place in the source's devices
  process_runs runs;                      ///< seconds of a call; empty where nothing was measured, or only moments told
  std::optional<sample_moments> moments;  ///< where there are no samples
  bool published = false;                 ///< a figure from a publication: one value, no samples

  /// Median of the samples, else the mean, else the published figure, in seconds; absent where nothing was measured.
  [[nodiscard]] std::optional<double> seconds() const;
};

/// A file of measurements in any of the formats that can be read.
struct comparison_source {
  std::string name;    ///< how people call it: its path
  std::string format;  ///< `prumo.results/1`, `nvbench`, `Google Benchmark`
  nlohmann::json run = nlohmann::json::object();
  std::vector<nlohmann::json> devices;
  std::vector<measurement> rows;
  std::vector<std::string> notes;  ///< what its reader should be told: results given twice, ...
};

/// A results document (docs/results.md) as a source. Of results given twice the last one counts, with a note.
/// \param document one that follows the schema
[[nodiscard]] comparison_source source_of_results(nlohmann::json document, std::string name);

/// Text in one of the formats that can be read. Files that belong to an nvbench document are looked for in `folder`.
/// \throws results_error for text that is empty, truncated, broken (with line and column), of a newer version or of an
///         unknown format, and where nothing in it was measured at all
[[nodiscard]] comparison_source read_source(std::string_view text, const std::string& name, const std::string& folder);

/// A file in one of the formats that can be read; `-` is standard input.
/// \throws results_error as read_source(), and where the file cannot be read
[[nodiscard]] comparison_source load_source(const std::string& path);

}  // namespace prumo::bench
