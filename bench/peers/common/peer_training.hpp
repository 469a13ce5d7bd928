// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training_program.hpp"
#include <prumo/protocol/net_messages.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace prumo::peers {

/// A training in a framework: its slices, epochs, sums, tests and checkpoints, as docs/protocol.md has them.
class peer_training {
 public:
  /// \param conditions what the bits of the weights depend on beside the training itself
  peer_training(std::unique_ptr<const inference::training_setup> setup, std::unique_ptr<training_program> program,
                data::checkpoint::texts conditions);

  const inference::training_setup& setup() const { return *setup_; }
  std::int64_t steps_per_epoch() const;

  protocol::advance_answer advance(const protocol::advance_request& request);
  protocol::check_answer check(const protocol::check_request& request);
  protocol::evaluate_answer evaluate();
  protocol::save_answer save(const protocol::save_request& request);
  protocol::load_answer load(const protocol::load_request& request);

 private:
  std::int64_t train_count() const { return setup_->files.set.images.count; }
  const nets::net_facts& facts() const { return setup_->files.net.facts; }
  std::int64_t epochs_done() const { return now_.epoch + (now_.step == steps_per_epoch() ? 1 : 0); }
  void begin_epoch();
  void take_step();
  const std::vector<std::int64_t>& order_of(std::int64_t epoch);
  nets::training_state state() const;
  data::checkpoint checkpoint_of(const std::string& note) const;
  std::vector<data::tensor> weight_arrays() const;

  std::unique_ptr<const inference::training_setup> setup_;
  std::unique_ptr<training_program> program_;
  data::checkpoint::texts conditions_;
  nets::training_progress now_;
  std::vector<std::int64_t> order_;
  std::optional<std::int64_t> order_is_of_;  ///< the epoch
};

}  // namespace prumo::peers
