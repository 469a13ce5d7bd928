// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// Published figures as a results document, each result marked by `published` (docs/results.md).
struct published_set {
  std::string name;  ///< `theano-2017`
  nlohmann::json document;
};

/// The names of the sets that lie in `reference/` of the folders, sorted.
[[nodiscard]] std::vector<std::string> published_set_names(std::span<const std::string> folders);

/// The sets of these names, in their order, from `reference/NAME.json` of the first folder that has it.
/// `folders` are those of worker_folders().
/// \throws program_error (wrong usage) for an unknown name, which lists those that there are, (this machine cannot)
///         where this prumo came without any; file_error for a file that breaks the format
[[nodiscard]] std::vector<published_set> load_published_sets(std::span<const std::string> names,
                                                             std::span<const std::string> folders);

}  // namespace prumo::bench
