// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "framework.hpp"
#include <prumo/protocol/messages.hpp>
#include <prumo/serving/sampling.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace prumo::peers {

/// A case with its memory. As in prumo's own cases, the memory is aligned to cache lines and first touched by the
/// threads that will use it.
class peer_case final : public protocol::timed_calls {
 public:
  /// Throws std::bad_alloc, and what the framework throws if it lacks the call.
  peer_case(framework& computes, const operation& what, const implementation& how, dtype type, const call& extents,
            std::uint64_t seed, std::size_t copies);

  void enqueue(std::size_t copy) override { functions_[copy](); }
  void fence() override { computes_.fence(); }

  /// Makes the calls of an interval and compares the copy that the last of them wrote with the reference: all entries
  /// if that takes at most `budget` operations, and otherwise evenly spread ones. For all entries it checks that they
  /// were written.
  protocol::verify_answer verify(double budget);

  protocol::sampler& measured() { return sampler_; }

 private:
  struct release_memory {
    void operator()(void* memory) const;
  };

  void fill(std::size_t copy);

  framework& computes_;
  const operation& what_;
  implementation how_;
  dtype type_;
  std::uint64_t seed_;
  std::vector<array_extent> arrays_;
  std::vector<std::unique_ptr<void, release_memory>> memory_;
  std::vector<call> calls_;
  std::vector<std::function<void()>> functions_;
  protocol::sampler sampler_;
};

}  // namespace prumo::peers
