// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The calls of a prepared case.

#include "device_calls.hpp"
#include <prumo/case/prepared_case.hpp>

#include <cstddef>
#include <vector>

namespace prumo::worker {

/// Calls on arrays that stay on the device.
template <class Exec>
class resident_calls final : public device_calls<Exec> {
 public:
  resident_calls(cases::prepared_case<Exec>& prepared, bool single)
      : device_calls<Exec>(prepared.owner().instance(), single), prepared_(prepared) {}

  void enqueue(std::size_t copy) override { prepared_.run(copy); }

 private:
  cases::prepared_case<Exec>& prepared_;
};

/// Calls that copy their inputs to the device, and their outputs back. The host memory may be pinned or not.
template <class Exec>
class transferred_calls final : public copying_calls<Exec> {
 public:
  transferred_calls(cases::prepared_case<Exec>& prepared, bool pinned)
      : copying_calls<Exec>(prepared.owner().instance()), prepared_(prepared) {
    for (std::size_t which = 0; which < prepared.array_count(); ++which) {
      const auto memory = prepared.memory_of(0, which);
      buffers_.emplace_back(this->instance(), memory.bytes, pinned);
      if (memory.role != cases::array_role::output) this->h2d_bytes_ += memory.bytes;
      if (memory.role != cases::array_role::input) this->d2h_bytes_ += memory.bytes;
    }
    begin_verification(0);
  }

  void enqueue(std::size_t copy) override { prepared_.run(copy); }

  /// The host's memory gets the contents that the copy has.
  void begin_verification(std::size_t copy) override {
    for (std::size_t which = 0; which < buffers_.size(); ++which) {
      const auto memory = prepared_.memory_of(copy, which);
      machine::enqueue_copy(this->instance(), buffers_[which].data(), memory.data, memory.bytes);
    }
    this->fence();
  }
  void end_verification(std::size_t copy) override {
    for (std::size_t which = 0; which < buffers_.size(); ++which) {
      const auto memory = prepared_.memory_of(copy, which);
      if (memory.role == cases::array_role::input) continue;
      machine::enqueue_copy(this->instance(), memory.data, buffers_[which].data(), memory.bytes);
    }
    this->fence();
  }

 protected:
  void copy_inputs(std::size_t copy) override {
    for (std::size_t which = 0; which < buffers_.size(); ++which) {
      const auto memory = prepared_.memory_of(copy, which);
      if (memory.role == cases::array_role::output) continue;
      machine::enqueue_copy(this->instance(), memory.data, buffers_[which].data(), memory.bytes);
    }
  }
  void copy_outputs(std::size_t copy) override {
    for (std::size_t which = 0; which < buffers_.size(); ++which) {
      const auto memory = prepared_.memory_of(copy, which);
      if (memory.role == cases::array_role::input) continue;
      machine::enqueue_copy(this->instance(), buffers_[which].data(), memory.data, memory.bytes);
    }
  }

 private:
  cases::prepared_case<Exec>& prepared_;
  std::vector<copy_buffer> buffers_;
};

}  // namespace prumo::worker
