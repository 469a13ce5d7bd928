// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "worker_client.hpp"
#include "worker_discovery.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// Options of every verb that starts workers.
struct common_options {
  worker_options workers;
  worker_client::options client;
  std::vector<std::string> devices;  ///< filters; empty: all but peers
  std::vector<std::string>
      threads;  ///< numbers of threads of the host's devices, see thread_numbers(); empty: as found
};

/// How much is measured where the user says nothing else.
enum class sweep { normal, quick, full };

/// What `prumo bench` measures. An empty list means the sweep's choice.
struct plan_options {
  sweep extent = sweep::normal;
  std::vector<std::string> ops;
  std::vector<std::uint64_t> sizes;     ///< bytes of one array
  std::map<std::string, double> shape;  ///< single axes
  std::vector<std::string> dtypes;
  std::vector<std::string> layouts;
  std::vector<std::string> data;
  std::vector<std::string> host_memory;
  std::vector<std::string> caches;
  std::vector<std::string> dispatches;
  std::vector<std::string> implementations;  ///< `all`: every one that a worker has
  bool tune = false;  ///< the implementation `tuned` instead of a worker's first, where there is one
  std::vector<std::string> compute_modes;
  std::map<std::string, double> parameters;
};

/// How it is measured.
struct measure_options {
  double budget_seconds = 120;         ///< of the whole run; infinite: none
  double case_limit_seconds = 10;      ///< the most that is spent on one case even if time is left
  std::optional<double> target_noise;  ///< relative inter-quartile range; absent: 0.5 % for GPUs, 2 % for CPUs
  std::size_t minimum_samples = 10;
  double minimum_seconds = 0.1;  ///< of samples a case
  std::uint64_t seed = 1;
  bool verify = true;
  bool probe_ceilings = true;
  double count_limit = 1e7;      ///< operations up to which counted flops come from running the kernel
  std::size_t process_runs = 1;  ///< how often all is measured by fresh worker processes
};

/// All options of `prumo bench`.
struct bench_options {
  common_options common;
  plan_options plan;
  measure_options measure;
  std::string output;  ///< empty: none; `-`: standard output
  std::string csv;
  std::string against;         ///< another build, whose workers are measured beside these; empty: none
  std::optional<double> gate;  ///< the share of slow-down beyond which the answer is no
  bool resume = false;
  bool list_only = false;
  std::vector<std::string> command;     ///< the words of the command line, for the record
  std::string suite;                    ///< measured instead of what `plan` chooses; empty: none
  std::vector<std::string> references;  ///< sets of published figures to show below the table
};

}  // namespace prumo::bench
