// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan/plan.hpp"
#include "plan/plan_options.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// One case of a suite.
struct suite_case {
  std::string op;
  std::string dtype;
  std::map<std::string, double> shape;  ///< every axis
};

/// A table of a published study: its operations, in its order.
struct suite_table {
  std::string title;
  std::vector<std::string> ops;
};

/// Cases that others measured and published, and that can be measured here.
struct suite {
  std::string name;
  std::string reference;  ///< the set of published figures (load_published_sets())
  std::vector<suite_case> cases;
  std::vector<suite_table> tables;  ///< none: the published figures are shown as they are
};

/// All suites.
[[nodiscard]] std::span<const suite> suites();

/// Their names, for help and messages.
[[nodiscard]] std::vector<std::string> suite_names();

/// \throws program_error (wrong usage) for an unknown name, which lists the others
[[nodiscard]] const suite& find_suite(const std::string& name);

/// The suite's cases as groups. `common` has the other choices (data, caches, implementations, ...); data are resident
/// if it has none. Cases that no worker here has, or that do not fit, are left out with a note.
/// \throws program_error if nothing is left; worker_failure, interrupted
[[nodiscard]] bench_plan make_suite_plan(const suite& which, const plan_options& common, worker_fleet& fleet);

}  // namespace prumo::bench
