// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// Published figures as a results document, each result marked by `published` (docs/results.md).
struct reference_set {
  std::string name;  ///< `theano-2017`
  nlohmann::json document;
};

/// The names of the sets that lie in `reference/` of the folders, sorted.
[[nodiscard]] std::vector<std::string> reference_names(std::span<const std::string> folders);

/// The sets of these names, in their order, from `reference/NAME.json` of the first folder that has it.
/// `folders` are those of worker_folders().
/// \throws program_error (wrong usage) for an unknown name, which lists those that there are, (this machine cannot)
///         where this prumo came without any; results_error for a file that breaks the format
[[nodiscard]] std::vector<reference_set> reference_results(std::span<const std::string> names,
                                                           std::span<const std::string> folders);

/// The same from this program's folders.
[[nodiscard]] std::vector<reference_set> reference_results(std::span<const std::string> names);

}  // namespace prumo::bench
