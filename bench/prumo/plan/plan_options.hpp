// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace prumo::bench {

/// How much is measured if the user does not choose.
enum class sweep { normal, quick, full };

/// What `prumo bench` measures. An empty list means the sweep's choice.
struct plan_options {
  sweep extent = sweep::normal;
  std::vector<std::string> ops;
  std::vector<std::uint64_t> sizes;                   ///< bytes of one array
  std::vector<std::map<std::string, double>> shapes;  ///< single axes of each
  std::vector<std::string> dtypes;
  std::vector<std::string> layouts;
  std::vector<std::string> data;
  std::vector<std::string> host_memory;
  std::vector<std::string> caches;
  std::vector<std::string> dispatches;
  std::vector<std::string> implementations;  ///< `all`: every one that a worker has
  bool tune = false;  ///< the implementation `tuned` instead of a worker's first, if there is one
  std::vector<std::string> compute_modes;
  std::map<std::string, double> parameters;
};

}  // namespace prumo::bench
