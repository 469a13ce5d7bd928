// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What differs between peers in C++: the device, and how each operation is called.

#include "net_program.hpp"
#include "operations.hpp"
#include "training_program.hpp"
#include <prumo/protocol/messages.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace prumo::peers {

/// One way in which an operation is computed.
struct implementation {
  std::string name;
  /// The largest error of an entry in units in the last place; 0 if the operation has a bound of its own. For a softmax
  /// it is the error of the exponential.
  double ulps = 0;
  double absolute = 0;  ///< an absolute error that is added to it
};

/// What computes on this host: loops, or a library.
class framework {
 public:
  virtual ~framework() = default;

  /// The name for messages.
  virtual std::string name() const = 0;
  virtual protocol::worker_description worker() const = 0;
  virtual protocol::device_summary device() const = 0;
  /// Further facts for the device's entry.
  virtual protocol::json facts() const { return protocol::json::object(); }

  /// The implementations of an operation, the standard one first; empty if there is none.
  virtual std::vector<implementation> implementations_of(const operation& what) const = 0;
  /// Why an operation lacks a type, for messages; empty if it has it.
  virtual std::string why_unsupported(const operation& what, dtype type) const = 0;

  /// A function for each of the calls, which makes it. The call may still run when the function returns. Throws
  /// request_error.
  virtual std::vector<std::function<void()>> bind(const operation& what, const implementation& how, dtype type,
                                                  std::span<const call> calls) = 0;
  /// Waits for all calls.
  virtual void fence() {}

  /// The ways in which it runs nets, the standard one first; empty if it runs none.
  virtual std::vector<std::string> net_implementations() const { return {}; }
  /// The types of nets: f32, f64 or both.
  virtual std::vector<std::string> net_types() const { return {}; }
  /// Throws request_error for a net that it cannot run.
  virtual std::unique_ptr<net_program> open_net(const net_choice&, const std::string&) { return nullptr; }

  /// The names of the ways in which it trains nets of net_types(), the standard one first. Empty if it trains none.
  virtual std::vector<std::string> training_implementations() const { return {}; }
  /// The setup outlives the program. Throws request_error for a net that it cannot train.
  virtual std::unique_ptr<training_program> open_training(const inference::training_setup&, dtype, const std::string&) {
    return nullptr;
  }
};

}  // namespace prumo::peers
