// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How calls are made and timed on each kind of device, whatever they compute.

#include <prumo/backend/device_clock.hpp>
#include <prumo/backend/recorded_calls.hpp>
#include <prumo/machine/transfers.hpp>
#include <prumo/protocol/seconds_since.hpp>
#include <prumo/serving/sampling.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace prumo::worker {

/// Calls on one instance. Short calls are recorded and replayed as one launch, so that the time is the device's and not
/// the host's for launching. This can be turned off.
template <class Exec>
class device_calls : public protocol::timed_calls {
 public:
  /// `single`: each call is launched by itself.
  device_calls(const Exec& instance, bool single)
      : instance_(instance), clock_(backend::make_device_clock(instance, 2)), is_single_(single) {}

  void fence() override { instance_.fence("prumo::worker::device_calls"); }

  bool has_device_clock() const { return clock_ != nullptr; }
  bool is_single() const { return is_single_ || clock_ == nullptr; }

  protocol::timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies) override {
    if (clock_ == nullptr) return timed_calls::run(calls, first, copies);
    const std::uint64_t recorded = replays(calls) ? record(calls, copies) : 0;
    const auto start = std::chrono::steady_clock::now();
    clock_->mark(0);
    protocol::timed_interval result;
    if (recorded > 0) {
      // A recording uses all copies, from the first to the last, so the next call uses the same copy as without it.
      for (; result.calls < calls; result.calls += recorded) recording_->replay();
    } else {
      for (; result.calls < calls; ++result.calls) {
        enqueue(first);
        if (++first == copies) first = 0;
      }
    }
    clock_->mark(1);
    fence();
    result.wall = protocol::seconds_since(start);
    result.device = clock_->seconds_between(0, 1);
    return result;
  }

  /// A recording always begins with the first copy and ends with the last one.
  std::size_t last_copy(std::uint64_t calls, std::size_t first, std::size_t copies) const override {
    return settled_.value_or(false) ? copies - 1 : timed_calls::last_copy(calls, first, copies);
  }

  void settle(std::uint64_t calls, std::size_t copies) override {
    settled_ = replays(calls) && record(calls, copies) > 0;
  }

  /// Recorded calls are many. So this records another one, in the same way.
  void run_once(std::size_t copy) override {
    const auto recorded = settled_.value_or(false) ? backend::record_calls(instance_, [&] { enqueue(copy); }) : nullptr;
    if (recorded == nullptr) return protocol::timed_calls::run_once(copy);
    recorded->replay();
    fence();
  }

  /// How the calls of a sample are made. \pre settle() was called
  const char* settled_dispatch() const { return settled_.value_or(false) ? "recorded" : "single"; }

  /// Called right before and after the calls that are verified. What calls copied to the host takes the place of the
  /// outputs on the device, where it is compared.
  virtual void begin_verification(std::size_t) {}
  virtual void end_verification(std::size_t) {}

 protected:
  const Exec& instance() const { return instance_; }

 private:
  /// If a batch of a millisecond has fewer calls, the calls are so long that their launches take no time.
  static constexpr std::uint64_t least_recorded = 40;
  static constexpr std::uint64_t longest_recording = 512;

  /// Whether this number of calls is replayed from a recording, if the space can record.
  bool replays(std::uint64_t calls) const { return settled_.value_or(!is_single() && calls >= least_recorded); }

  /// Makes the recording when it is first needed, and returns its number of calls; 0 if the space cannot record.
  std::uint64_t record(std::uint64_t calls, std::size_t copies) {
    if (is_recorded_) return recording_ != nullptr ? recorded_calls_ : 0;
    is_recorded_ = true;
    const std::uint64_t rounds = (std::min(calls, longest_recording) + copies - 1) / copies;
    recorded_calls_ = rounds * copies;
    recording_ = backend::record_calls(instance_, [&] {
      for (std::uint64_t call = 0; call < recorded_calls_; ++call) enqueue(static_cast<std::size_t>(call % copies));
    });
    return recording_ != nullptr ? recorded_calls_ : 0;
  }

  Exec instance_;
  std::unique_ptr<backend::device_clock> clock_;
  bool is_single_;
  std::unique_ptr<backend::recorded_calls> recording_;
  std::uint64_t recorded_calls_ = 0;
  bool is_recorded_ = false;
  std::optional<bool> settled_;  ///< whether calls are replayed from now on
};

/// Calls with copies: before each call its inputs are copied to the device, and after it its results are copied back.
template <class Exec>
class copying_calls : public device_calls<Exec> {
 public:
  explicit copying_calls(const Exec& instance)
      : device_calls<Exec>(instance, true), marks_(backend::make_device_clock(instance, 4 * most)) {}

  /// The bytes that each call copies.
  std::uint64_t h2d_bytes() const { return h2d_bytes_; }
  std::uint64_t d2h_bytes() const { return d2h_bytes_; }
  std::uint64_t most_calls() const override { return most; }

  protocol::timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies) override {
    protocol::timed_interval result;
    result.calls = std::min<std::uint64_t>(calls, most);
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t call = 0; call < result.calls; ++call) {
      marks_->mark(4 * call);
      copy_inputs(first);
      marks_->mark(4 * call + 1);
      this->enqueue(first);
      marks_->mark(4 * call + 2);
      copy_outputs(first);
      marks_->mark(4 * call + 3);
      if (++first == copies) first = 0;
    }
    this->fence();
    result.wall = protocol::seconds_since(start);
    result.device = marks_->seconds_between(0, 4 * (result.calls - 1) + 3);
    result.h2d = 0;
    result.d2h = 0;
    for (std::size_t call = 0; call < result.calls; ++call) {
      *result.h2d += marks_->seconds_between(4 * call, 4 * call + 1);
      *result.d2h += marks_->seconds_between(4 * call + 2, 4 * call + 3);
    }
    return result;
  }

  void run_once(std::size_t copy) override { run(1, copy, copy + 1); }

 protected:
  virtual void copy_inputs(std::size_t copy) = 0;
  virtual void copy_outputs(std::size_t copy) = 0;

  std::uint64_t h2d_bytes_ = 0;
  std::uint64_t d2h_bytes_ = 0;

 private:
  /// Calls in an interval; each has marks of its own.
  static constexpr std::size_t most = 32;

  std::unique_ptr<backend::device_clock> marks_;
};

/// Host memory that calls copy from and to, pinned or not.
class copy_buffer {
 public:
  template <class Exec>
  copy_buffer(const Exec& instance, std::size_t bytes, bool pinned) {
    if (pinned) pinned_ = machine::allocate_pinned(instance, std::max<std::size_t>(bytes, 1));
    if (pinned_ == nullptr) pageable_.resize(bytes);
  }

  std::byte* data() { return pinned_ == nullptr ? pageable_.data() : static_cast<std::byte*>(pinned_->data()); }

 private:
  std::unique_ptr<machine::pinned_memory> pinned_;
  std::vector<std::byte> pageable_;
};

}  // namespace prumo::worker
