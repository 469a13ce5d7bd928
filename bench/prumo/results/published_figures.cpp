// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/published_figures.hpp"

#include "results/results_file.hpp"
#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace prumo::bench {
namespace {

namespace fs = std::filesystem;

fs::path reference_folder(const std::string& folder) { return fs::path(folder) / "reference"; }

}  // namespace

std::vector<std::string> published_set_names(std::span<const std::string> folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(reference_folder(folder), ignored)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::vector<published_set> load_published_sets(std::span<const std::string> names,
                                               std::span<const std::string> folders) {
  std::vector<published_set> sets;
  const std::vector<std::string> known = published_set_names(folders);
  for (const std::string& name : names) {
    if (known.empty()) {
      throw program_error(
          exit_code::machine_cannot,
          fmt::format("there are no published figures in reference/ of {}. This prumo was copied without them: install "
                      "all of it, or set PRUMO_WORKER_PATH to a folder that has them",
                      fmt::join(folders, ", ")));
    }
    if (std::ranges::find(known, name) == known.end()) {
      throw program_error(exit_code::wrong_usage, "--with: " + unknown_name_message("reference", name, known));
    }
    for (const std::string& folder : folders) {
      const fs::path file = reference_folder(folder) / (name + ".json");
      std::error_code ignored;
      if (!fs::is_regular_file(file, ignored)) continue;
      sets.push_back({name, load_results(file.string())});
      break;
    }
  }
  return sets;
}

}  // namespace prumo::bench
