// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cases/case_record.hpp"
#include "cases/measure_options.hpp"
#include "inference/inference_options.hpp"
#include "inference/net_inputs.hpp"
#include "statistics/stopping.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// A net on one device, in one type, for batches of one size.
struct net_place {
  std::size_t device = 0;  ///< index in worker_fleet::devices()
  std::string dtype;
  std::int64_t batch = 0;
  image_placement images;
  std::optional<std::string> implementation = std::nullopt;  ///< absent: the worker's first
};

/// The entry of a results file that is known before anything is measured. `kind` is `layer`, `inference` or `program`,
/// and `op` what is measured: a step `lenet5/conv1+pool1`, the net `lenet5/net`, or a program `lenet5`.
[[nodiscard]] nlohmann::json net_result_stub(const worker_fleet& fleet, const net_inputs& inputs,
                                             const net_place& place, const std::string& kind, const std::string& op);

/// The net as a whole, or a step of it, while it is measured.
struct timed_part {
  std::optional<std::int64_t> step;  ///< absent: the net
  protocol::cost_model model;
  case_record record;
  double sampled_seconds = 0;
  double interval_seconds = 0;  ///< of one sample
  bool done = false;
  stop_reason why = stop_reason::budget;

  [[nodiscard]] bool open() const { return !done && !record.ended(); }
  void stop(stop_reason reason) {
    done = true;
    why = reason;
  }
};

/// An open net. Errors of its worker end its parts with the reason, and nothing else.
class open_net {
 public:
  /// Opens the net. Parts are the net, its steps, or both.
  open_net(worker_fleet& fleet, const net_inputs& inputs, const net_place& place, bool wants_net, bool wants_steps,
           const measure_options& options);

  /// Compares results with the reference, for each level that is measured.
  void verify();
  /// Runs all images. The accuracy belongs to the net's entry.
  void evaluate();
  /// Asks a part for samples. `discards` as in live_case::sample().
  void sample(timed_part& part, double seconds, bool discards);
  /// The parts that are measured enough, or cannot be, are done. Each may use `part_seconds`, in turns of
  /// `slice_seconds`.
  void end_round(double part_seconds, double slice_seconds);
  /// Closes the session.
  void close();

  /// What the worker makes of images that other devices classify otherwise: whether the bounds of rounding leave each
  /// of them open. Absent if it cannot tell.
  [[nodiscard]] std::optional<bool> are_undecided(const std::vector<std::int64_t>& images);

  [[nodiscard]] const net_place& place() const { return place_; }
  [[nodiscard]] std::vector<timed_part>& parts() { return parts_; }
  [[nodiscard]] bool any_open() const;
  [[nodiscard]] const std::vector<std::int64_t>& predictions() const { return predictions_; }
  [[nodiscard]] const nlohmann::json& accuracy() const { return accuracy_; }

 private:
  void guarded(const std::function<void()>& action);
  void end_all(const std::function<void(case_record&)>& how);

  worker_client& client_;
  net_place place_;
  stopping_rule rule_;
  double slow_seconds_ = 0;         ///< what a call may take on a slow machine
  double slow_images_seconds_ = 0;  ///< the same for all images
  std::optional<protocol::open_answer> opened_;
  int generation_ = 0;
  std::vector<timed_part> parts_;
  std::vector<std::int64_t> predictions_;
  nlohmann::json accuracy_;
};

}  // namespace prumo::bench
