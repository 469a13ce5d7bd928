// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Runs a device's kernel of teams on the host, so that its indices and barriers can be tested without a device, and
/// by sanitizers.

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace prumo::tests {

/// A thread of a team that runs on the host.
class emulated_team_member {
 public:
  class scratch_space {
   public:
    explicit scratch_space(std::byte* memory) : memory_(memory) {}
    void* get_shmem_aligned(std::size_t bytes, std::size_t alignment) const {
      const std::size_t begin = (taken_ + alignment - 1) / alignment * alignment;
      taken_ = begin + bytes;
      return memory_ + begin;
    }

   private:
    std::byte* memory_;
    mutable std::size_t taken_ = 0;
  };

  emulated_team_member(int rank, int team, int teams, std::barrier<>& barrier, std::byte* scratch)
      : rank_(rank), team_(team), teams_(teams), barrier_(barrier), scratch_(scratch) {}

  int league_rank() const { return team_; }
  int league_size() const { return teams_; }
  int team_rank() const { return rank_; }
  void team_barrier() const { barrier_.arrive_and_wait(); }
  const scratch_space& team_scratch(int) const { return scratch_; }

 private:
  int rank_;
  int team_;
  int teams_;
  std::barrier<>& barrier_;
  scratch_space scratch_;
};

/// Runs the teams of a kernel one after the other, each thread of a team as a thread of the host. Each team begins with
/// scratch memory full of NaN.
template <class Kernel>
void run_emulated_teams(const Kernel& kernel) {
  const int threads = kernel.team_threads();
  const int teams = static_cast<int>(kernel.blocks());
  struct alignas(32) line {
    std::byte bytes[32];
  };
  std::vector<line> scratch((kernel.scratch_bytes() + sizeof(line) - 1) / sizeof(line));
  auto* const memory = reinterpret_cast<std::byte*>(scratch.data());
  std::barrier barrier(threads);
  std::vector<std::jthread> running;
  for (int rank = 0; rank < threads; ++rank) {
    running.emplace_back([&, rank] {
      for (int team = 0; team < teams; ++team) {
        if (rank == 0) std::memset(memory, 0xff, kernel.scratch_bytes());
        barrier.arrive_and_wait();
        kernel(emulated_team_member(rank, team, teams, barrier, memory));
        barrier.arrive_and_wait();
      }
    });
  }
}

}  // namespace prumo::tests
