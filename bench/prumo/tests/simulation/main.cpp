// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// prumo-verdict-simulation [DOCUMENT]: prints the tables of docs/comparing.md about how often verdicts are right, or
// replaces them in the document, between its lines `<!-- simulation -->` and `<!-- end of the simulation -->`. Takes
// some tens of minutes on two cores.
#include "simulation_tables.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace prumo::bench::simulation;

std::vector<rates> simulate_all() {
  const std::vector<cell> cells = all_cells();
  std::vector<rates> found(cells.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < cells.size(); i = next++) {
      found[i] = rates_of(cells[i], published_trials(cells[i].cases));
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

void replace_tables(const std::string& path, const std::string& tables) {
  const std::string begin = "<!-- simulation -->\n";
  const std::string end = "<!-- end of the simulation -->";
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t first = text.find(begin);
  const std::size_t last = text.find(end);
  if (first == std::string::npos || last == std::string::npos) {
    throw std::runtime_error(path + " has no lines '<!-- simulation -->' and '<!-- end of the simulation -->'");
  }
  text.replace(first + begin.size(), last - first - begin.size(), tables);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!(out << text).flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string tables = markdown_tables(simulate_all());
    if (argc > 1) {
      replace_tables(argv[1], tables);
    } else {
      fmt::print("{}", tables);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "prumo-verdict-simulation: {}\n", error.what());
    return 1;
  }
  return 0;
}
