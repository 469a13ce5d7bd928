// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "operations.hpp"
#include <prumo/protocol/messages.hpp>
#include <prumo/protocol/sampling.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace prumo::peers {

/// A case with its memory, as prumo's own: aligned to cache lines, first touched by the threads that will use it.
class loop_case final : public protocol::timed_calls {
 public:
  /// Throws std::bad_alloc.
  loop_case(const operation& what, const implementation& how, const call& extents, bool is_double, std::uint64_t seed,
            std::size_t copies);

  void enqueue(std::size_t copy) override { run_(calls_[copy]); }
  void fence() override {}

  /// Runs the first copy once and compares with the reference: every entry where that takes `budget` operations or
  /// fewer, else evenly chosen ones. All are checked for having been written.
  protocol::verify_answer verify(double budget);

  protocol::sampler& measured() { return sampler_; }

 private:
  struct release_memory {
    void operator()(void* memory) const;
  };

  template <class T>
  void fill(std::size_t copy);
  template <class T>
  protocol::verify_answer verify_as(double budget);

  const operation& what_;
  implementation how_;
  bool is_double_;
  std::uint64_t seed_;
  kernel run_;
  std::vector<array_extent> arrays_;
  std::vector<std::unique_ptr<void, release_memory>> memory_;
  std::vector<call> calls_;
  protocol::sampler sampler_;
};

}  // namespace prumo::peers
