// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "results/results_file.hpp"
#include "terminal/progress.hpp"
#include "training/interrupted_training.hpp"
#include "training/open_training.hpp"
#include "training/training_inputs.hpp"
#include "training/training_options.hpp"
#include "workers/worker_fleet.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace prumo::bench {

/// The outcome of a run.
struct training_outcome {
  std::size_t wrong = 0;      ///< trainings of which a step was not within the bound
  std::size_t failed = 0;     ///< that failed otherwise
  std::size_t trained = 0;    ///< with results
  std::size_t unreached = 0;  ///< that ended below the accuracy that was asked for
  std::size_t lacking_memory = 0;
  std::size_t kept = 0;              ///< that a resumed file had already
  std::vector<std::string> unsaved;  ///< files that the machine refused at last: the checkpoint, the final weights
};

/// Trains a net on all devices of a fleet, in slices in turns, and keeps the results file up to date.
class training_run {
 public:
  /// \param tell gets a line for each epoch, for a person who reads along
  /// \param warn gets what that person should know of files that cannot be written
  training_run(worker_fleet& fleet, const training_inputs& inputs, results_writer& writer, progress& shown,
               const training_plan& plan, std::function<void(const std::string&)> tell,
               std::function<void(const std::string&)> warn);

  /// Trainings that the writer has whole from an earlier run are kept. If the user asks to stop, the step under way is
  /// finished, the checkpoint and the results are written, and `interrupted` is thrown. If the machine refuses a
  /// checkpoint, as a full disk does, the training goes on, and the next turn tries again. Refused weights cost no
  /// results.
  /// \throws file_error where the checkpoint to go on from is refused, or one would hold numbers that are not finite;
  ///         program_error where a checkpoint would have to hold several trainings; interrupted
  training_outcome run();

  /// What the checkpoint holds now.
  [[nodiscard]] checkpoint_state checkpoint() const { return checkpoint_; }

  /// The places that are trained: every device, in each way that was asked for, by type and number of images.
  [[nodiscard]] std::vector<training_place> places() const;

 private:
  [[nodiscard]] bool is_kept(const training_place& place) const;
  void prepare(open_training& training);
  void train_in_turns(std::vector<open_training>& trainings);
  void take_turn(open_training& training, double seconds);
  void save_checkpoint(open_training& training);
  void finish(open_training& training);
  void store(const open_training& training, bool interrupted);
  void tell_epoch(const open_training& training);
  [[nodiscard]] std::string label_of(const training_place& place) const;
  void show(const open_training& training, const std::string& what);

  worker_fleet& fleet_;
  const training_inputs& inputs_;
  results_writer& writer_;
  progress& progress_;
  const training_plan& plan_;
  std::function<void(const std::string&)> tell_, warn_;
  std::size_t done_ = 0;
  checkpoint_state checkpoint_ = checkpoint_state::none;
  bool several_ways_ = false, several_batches_ = false, lacks_checkpoint_ = false, lacks_weights_ = false;
};

}  // namespace prumo::bench
