// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Calls recorded to be replayed as one launch, so that what is timed is the device's work and not the host's
/// launching.

#include <prumo/spaces.hpp>

#include <functional>
#include <memory>

namespace prumo::machine {

/// Calls that were recorded once.
class recorded_calls {
 public:
  virtual ~recorded_calls() = default;

  /// Enqueues all of them as one launch.
  virtual void replay() = 0;
};

// Every backend defines this for its spaces:
//   record_calls(instance, enqueue): calls `enqueue`, which must use this instance only and allocate nothing, and
//     records instead of running. Null where the space cannot, as on the host; throws backend_error where something in
//     `enqueue` cannot be recorded.
#define PRUMO_DECLARE_RECORDED_CALLS(Space) \
  std::unique_ptr<recorded_calls> record_calls(const Space& instance, const std::function<void()>& enqueue);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_RECORDED_CALLS)
#undef PRUMO_DECLARE_RECORDED_CALLS

}  // namespace prumo::machine
