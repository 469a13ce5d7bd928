// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training/training_inputs.hpp"
#include "training/training_options.hpp"
#include "training/training_result.hpp"
#include "workers/worker_fleet.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace prumo::bench {

/// A training while it runs. Errors of its worker end it with the reason, and nothing else.
class open_training {
 public:
  /// Opens the training.
  open_training(worker_fleet& fleet, const training_inputs& inputs, const training_plan& plan,
                const training_place& place);

  /// Compares a step with the reference.
  void verify();
  /// Goes on from a checkpoint.
  /// \throws file_error where the checkpoint is refused
  void load(const std::string& path, bool allow_mixed);
  /// Makes steps for about so many seconds, at most to the end of the epoch; tests the net there.
  /// \return whether an epoch ended
  bool advance(double seconds);
  /// Writes a checkpoint. \throws file_error where that fails
  void save_checkpoint(const std::string& path);
  /// Writes the weights alone, in the type that the plan names, with notes of what they are. Rounded weights are tested
  /// once more. \throws file_error where that fails
  void save_weights(const std::string& path);
  /// Closes the session.
  void close();

  /// True while there are epochs left and nothing failed.
  [[nodiscard]] bool open() const { return !ended_ && !done_; }
  /// True if all was done that was asked for.
  [[nodiscard]] bool done() const { return done_; }
  /// Whether the accuracy that was asked for was reached.
  [[nodiscard]] bool reached() const { return reached_; }
  /// Whether it can be saved: its steps are known.
  [[nodiscard]] bool started() const { return session_ && !ended_; }
  /// Seconds of steps since the last checkpoint.
  [[nodiscard]] double unsaved_seconds() const { return unsaved_seconds_; }

  [[nodiscard]] const training_place& place() const { return place_; }
  [[nodiscard]] const std::vector<epoch_record>& epochs() const { return epochs_; }
  /// The epoch that is under way, from 1 up, and the share of its steps that are made.
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] double share_of_epoch() const { return share_of_epoch_; }
  /// Images a second of the latest epoch that ended.
  [[nodiscard]] double image_rate() const;

  /// The entry for the results file as it is now; null if there is nothing to tell yet.
  [[nodiscard]] nlohmann::json result(bool interrupted) const;

 private:
  std::optional<protocol::save_answer> save(const protocol::save_request& what);
  [[nodiscard]] std::optional<double> tested_accuracy(const std::string& weights);
  void guarded(const std::function<void()>& action);
  void end(const std::string& status, const std::string& reason);
  void end_refused(const std::string& kind, const std::string& message);
  void finish_epoch(const protocol::advance_answer& told);
  [[nodiscard]] std::string note() const;
  void read_note(const std::string& path, const std::string& text);

  worker_client& client_;
  training_place place_;
  const training_plan& plan_;
  const training_inputs& inputs_;
  std::string own_id_;  ///< the worker's name of the device
  double train_images_ = 0;
  double slow_step_seconds_ = 0;  ///< what a step may take on a slow machine
  double slow_test_seconds_ = 0;  ///< the same for all test images
  nlohmann::json result_;
  std::optional<std::int64_t> session_;
  int generation_ = 0;
  std::int64_t steps_per_epoch_ = 1;
  std::string clock_ = "wall";
  std::vector<epoch_record> epochs_;
  epoch_record current_;      ///< what is known of the epoch under way
  bool knows_energy_ = true;  ///< of all steps of this epoch
  double test_seconds_ = 0;   ///< of all evaluations so far
  std::int64_t epoch_ = 1;
  double share_of_epoch_ = 0;
  double unsaved_seconds_ = 0;
  std::optional<double> clock_mhz_, temperature_c_;
  std::set<std::string> throttle_;
  bool ended_ = false, done_ = false, reached_ = false;
};

}  // namespace prumo::bench
