// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/deadlines.hpp"
#include "cases/measure_options.hpp"
#include "inference/inference_options.hpp"
#include "inference/net_inputs.hpp"
#include "inference/open_net.hpp"
#include "results/results_file.hpp"
#include "terminal/progress.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// The outcome of a run.
struct inference_outcome {
  std::size_t wrong = 0;           ///< results that are not within the bound
  std::size_t failed = 0;          ///< other failed results
  std::size_t measured = 0;        ///< results with times
  std::size_t lacking_memory = 0;  ///< that do not fit into memory
  std::size_t kept = 0;            ///< that a resumed file had already
};

/// Measures a net on all devices of a fleet and keeps the results file up to date.
///
/// A group is one type, number of images a call and placement of these, on all devices. Its nets are opened, verified
/// and evaluated one after the other, and then sampled in turns with each other, step by step. Programs follow, each in
/// fresh processes.
class inference_run {
 public:
  inference_run(worker_fleet& fleet, const net_inputs& inputs, results_writer& writer, progress& shown,
                const measure_options& options, steady_time deadline);

  /// Results that the writer has from an earlier run are kept.
  /// \throws interrupted, file_error
  inference_outcome run(const inference_plan& plan);

 private:
  struct group {
    std::string dtype;
    std::int64_t batch;
    image_placement images;
  };

  [[nodiscard]] bool has_final(const net_place& place, const std::string& kind) const;
  [[nodiscard]] double seconds_for_a_part(std::size_t parts) const;
  void measure(const group& which, const inference_plan& plan);
  void sample_in_turns(std::vector<open_net>& nets, double part_seconds);
  void compare_predictions(std::vector<open_net>& nets);
  void measure_programs(const group& which);
  void measure_program_of(const net_place& place);
  void store(open_net& net);
  void store(nlohmann::json result, const protocol::cost_model& model, std::size_t device);
  /// Tells which net is at work, for a person who waits.
  [[nodiscard]] std::string label_of(const net_place& place) const;
  void show(const std::string& what);

  worker_fleet& fleet_;
  const net_inputs& inputs_;
  results_writer& writer_;
  progress& progress_;
  measure_options options_;
  steady_time deadline_;
  std::size_t groups_left_ = 0;
  std::size_t done_ = 0;
  std::size_t kept_ = 0;
  std::vector<std::vector<std::optional<std::string>>> implementations_;  ///< of each device
};

}  // namespace prumo::bench
