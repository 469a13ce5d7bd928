// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Calls that are recorded once and replayed as one launch. A measurement of them has the device's time, and not the
/// time that the host takes to launch each call.

#include <prumo/spaces.hpp>

#include <functional>
#include <memory>

namespace prumo::backend {

/// Calls that have been recorded.
class recorded_calls {
 public:
  virtual ~recorded_calls() = default;

  /// Enqueues all of them as one launch.
  virtual void replay() = 0;
};

// Every backend defines this for its spaces:
//   record_calls(instance, enqueue): calls `enqueue` and records the work that it enqueues, without running it.
//     `enqueue` must use this instance only and allocate nothing. The result is null if the space cannot record, like
//     the host. Throws backend_error if something in `enqueue` cannot be recorded.
#define PRUMO_DECLARE_RECORDED_CALLS(Space) \
  std::unique_ptr<recorded_calls> record_calls(const Space& instance, const std::function<void()>& enqueue);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_RECORDED_CALLS)
#undef PRUMO_DECLARE_RECORDED_CALLS

}  // namespace prumo::backend
