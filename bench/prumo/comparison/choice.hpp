// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/comparison.hpp"
#include "comparison/source.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::bench {

/// Which rows take part. An empty list means all.
struct row_filters {
  std::vector<std::string> ops, dtypes, layouts, data, caches, dispatches, compute_modes;
  std::vector<std::string> devices;  ///< `openmp:0`, or `openmp` for all of a backend
  std::vector<std::string> implementations;
  std::vector<std::uint64_t> sizes;  ///< bytes of one array
};

/// Drops the rows that the filters do not want.
/// \throws program_error (wrong usage) for a name that no file has
void keep_rows(std::vector<comparison_source>& sources, const row_filters& filters);

/// What is compared.
struct comparison_request {
  std::vector<const comparison_source*> files;  ///< in the order given
  std::vector<const comparison_source*> to;     ///< the other side of versions; empty: find out what is meant
  std::string base;                             ///< of devices; empty: the first
  bool each_implementation = false;             ///< a column for each
};

/// Finds out which comparison is meant, joins the cases, and says in its notes what was chosen. With `to` there are two
/// sides of versions. Two files that have a device in common are two versions of it, unless a base is named or a column
/// for each implementation is wanted. Everything else is a comparison of devices side by side; a single device has a
/// column for each implementation. If a file is on one side twice, it counts once.
/// \throws program_error (wrong usage) if there is nothing to compare, with the reason and a remedy
[[nodiscard]] comparison choose_comparison(const comparison_request& request);

}  // namespace prumo::bench
