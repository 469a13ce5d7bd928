// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verbs/common.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "results_schema.hpp"

namespace prumo::bench {

void open_fleet(worker_fleet& fleet, const common_options& options, bool with_facts) {
  fleet.start();
  std::vector<std::string> named;
  for (const std::string& entry : options.workers.named) named.push_back(entry.substr(0, entry.find('=')));
  fleet.select_devices(options.devices, named);
  if (with_facts) fleet.read_facts();
}

void print_notes(std::span<const std::string> notes) {
  for (const std::string& note : notes) fmt::print(stderr, "prumo: note: {}\n", note);
}

void print_report(std::string_view text, const std::string& output) {
  std::FILE* to = output == "-" ? stderr : stdout;
  fmt::print(to, "{}", text);
  std::fflush(to);
}

}  // namespace prumo::bench
