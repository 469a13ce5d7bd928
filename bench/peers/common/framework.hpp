// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What differs between peers in C++: a peer tells its device and how each operation is called.

#include "operations.hpp"
#include <prumo/protocol/messages.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace prumo::peers {

/// One way in which an operation is computed.
struct implementation {
  std::string name;
  /// Largest error of an entry in units in the last place, 0 where the operation has a bound of its own; of a softmax
  /// that of the exponential.
  double ulps = 0;
  double absolute = 0;  ///< what may be added to that
};

/// What computes on this host: loops, or a library.
class framework {
 public:
  virtual ~framework() = default;

  /// How messages call it.
  virtual std::string name() const = 0;
  virtual protocol::worker_description worker() const = 0;
  virtual protocol::device_summary device() const = 0;
  /// What else the device's entry tells.
  virtual protocol::json facts() const { return protocol::json::object(); }

  /// The implementations of an operation, the standard one first; empty where there is none.
  virtual std::vector<implementation> implementations_of(const operation& what) const = 0;
  /// Why an operation is not there in a type, for the person who asked; empty where it is.
  virtual std::string why_unsupported(const operation& what, dtype type) const = 0;

  /// Functions that make the calls, one for each, which may still run when they return. Throws request_error.
  virtual std::vector<std::function<void()>> bind(const operation& what, const implementation& how, dtype type,
                                                  std::span<const call> calls) = 0;
  /// Waits for all calls.
  virtual void fence() {}
};

}  // namespace prumo::peers
