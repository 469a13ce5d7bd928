// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints the tables of docs/comparing.md about how often verdicts are right, or replaces them in the document.
#include "simulation_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace prumo::bench::simulation;
using prumo::bench::fewest_runs;
using prumo::bench::run_plan;

constexpr std::string_view help = R"(usage: prumo-verdict-simulation [--share PERCENT] [--runs FEWEST:MOST] [DOCUMENT]

Simulates comparisons on made-up machines and prints how often their verdicts are right. With DOCUMENT it replaces the
tables in it, between the lines '<!-- simulation -->' and '<!-- end of the simulation -->'. All comparisons of the
tables take about half an hour of one processor, and all processors share them.

  --share PERCENT      simulate this share of the comparisons only, for a quick look
  --runs FEWEST:MOST   simulate this number of process runs instead of those of the tables; not with DOCUMENT

examples:
  prumo-verdict-simulation docs/comparing.md
  prumo-verdict-simulation --share 5 --runs 3:65
)";

struct choices {
  double share = 1;
  std::vector<run_plan> runs{plans.begin(), plans.end()};
  std::string document;
};

/// \throws std::invalid_argument for anything that is not in the help
choices read_choices(const std::vector<std::string>& words) {
  choices chosen;
  bool has_runs = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--share" && has_value) {
      chosen.share = std::stod(words[++i]) / 100;
      if (!(chosen.share > 0 && chosen.share <= 1)) throw std::invalid_argument("--share: expected 0 to 100");
    } else if (word == "--runs" && has_value) {
      std::istringstream text(words[++i]);
      run_plan plan;
      char colon = 0;
      if (!(text >> plan.fewest >> colon >> plan.most) || colon != ':' || plan.fewest < fewest_runs ||
          plan.most < plan.fewest) {
        throw std::invalid_argument("--runs: expected FEWEST:MOST, three runs at least");
      }
      chosen.runs = {plan};
      has_runs = true;
    } else if (!word.starts_with("-") && chosen.document.empty()) {
      chosen.document = word;
    } else {
      throw std::invalid_argument(fmt::format("'{}' is not understood; see --help", word));
    }
  }
  if (has_runs && !chosen.document.empty()) throw std::invalid_argument("--runs does not go with a document");
  return chosen;
}

std::vector<rates> simulate_all(const std::vector<cell>& cells, double share) {
  std::vector<rates> found(cells.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < cells.size(); i = next++) {
      found[i] = rates_of(cells[i], std::max(1, static_cast<int>(share * published_trials(cells[i].cases))));
      fmt::print(stderr, "\r{} of {} cells", i + 1, cells.size());
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  fmt::print(stderr, "\n");
  return found;
}

/// \param tables absent: only looks whether they could be replaced
void replace_tables(const std::string& path, const std::optional<std::string>& tables) {
  const std::string begin = "<!-- simulation -->\n";
  const std::string end = "<!-- end of the simulation -->";
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw std::runtime_error("cannot read " + path);
  const std::size_t first = text.find(begin);
  const std::size_t last = text.find(end);
  if (first == std::string::npos || last == std::string::npos) {
    throw std::runtime_error(path + " has no lines '<!-- simulation -->' and '<!-- end of the simulation -->'");
  }
  if (!tables) return;
  text.replace(first + begin.size(), last - first - begin.size(), *tables);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!(out << text).flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (std::ranges::find(words, "--help") != words.end()) {
    fmt::print("{}", help);
    return 0;
  }
  try {
    const choices chosen = read_choices(words);
    const std::vector<cell> cells = all_cells(chosen.runs);
    if (!chosen.document.empty()) replace_tables(chosen.document, {});  // says now what it could not do at the end
    const std::string tables = markdown_tables(cells, simulate_all(cells, chosen.share));
    if (chosen.document.empty()) {
      fmt::print("{}", tables);
    } else {
      replace_tables(chosen.document, tables);
    }
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "prumo-verdict-simulation: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "prumo-verdict-simulation: {}\n", error.what());
    return 1;
  }
  return 0;
}
