// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Time on the device's own clock.

#include <prumo/spaces.hpp>

#include <cstddef>
#include <memory>

namespace prumo::backend {

/// Marks in the order of an instance's work. The time between two of them is the device's time for the work between
/// them, whatever the host does.
class device_clock {
 public:
  virtual ~device_clock() = default;

  /// Enqueues mark number `which`, below the number of marks that the clock was made with.
  virtual void mark(std::size_t which) = 0;

  /// The seconds from one mark to a later one. Waits until the device has passed both. Throws backend_error if work
  /// between them failed.
  virtual double seconds_between(std::size_t from, std::size_t to) = 0;
};

// Every backend defines this for its spaces:
//   make_device_clock(instance, marks): null if there is only the host's clock, as for the host's own spaces.
#define PRUMO_DECLARE_DEVICE_CLOCK(Space) \
  std::unique_ptr<device_clock> make_device_clock(const Space& instance, std::size_t marks);
PRUMO_FOR_EACH_SPACE(PRUMO_DECLARE_DEVICE_CLOCK)
#undef PRUMO_DECLARE_DEVICE_CLOCK

}  // namespace prumo::backend
