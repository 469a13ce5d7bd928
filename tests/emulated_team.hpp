// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Runs a device's kernel of teams on the host, so that its indices and barriers can be tested without a device, and
/// by sanitizers.

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#if defined(__CUDACC__)
// Kernels call these members on the host alone, but nvcc warns of it. GCC 13 takes registers
// of a kernel for unset that another function has set.
#pragma nv_diag_suppress 20014
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

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

  /// Neighbouring threads that read each other's values.
  struct stretch {
    static constexpr int most_threads = 32;
    explicit stretch(int threads) : barrier(threads) {}
    std::barrier<> barrier;
    double values[most_threads] = {};
  };

  emulated_team_member(int rank, int team, int teams, std::barrier<>& barrier, stretch& neighbours, std::byte* scratch)
      : rank_(rank), team_(team), teams_(teams), barrier_(barrier), neighbours_(neighbours), scratch_(scratch) {}

  int league_rank() const { return team_; }
  int league_size() const { return teams_; }
  int team_rank() const { return rank_; }
  void team_barrier() const { barrier_.arrive_and_wait(); }
  const scratch_space& team_scratch(int) const { return scratch_; }
  void stretch_barrier() const { neighbours_.barrier.arrive_and_wait(); }

  template <class C>
  C value_before(C value) const {
    const int lane = rank_ % stretch::most_threads;
    return value_of(lane == 0 ? 0 : lane - 1, value);
  }
  template <class C>
  C value_across(C value, int distance) const {
    return value_of(rank_ % stretch::most_threads ^ distance, value);
  }

 private:
  /// The value of a lane of the stretch. All of its threads tell theirs.
  template <class C>
  C value_of(int lane, C value) const {
    neighbours_.values[rank_ % stretch::most_threads] = static_cast<double>(value);
    neighbours_.barrier.arrive_and_wait();
    const double told = neighbours_.values[lane];
    neighbours_.barrier.arrive_and_wait();
    return static_cast<C>(told);
  }

  int rank_;
  int team_;
  int teams_;
  std::barrier<>& barrier_;
  stretch& neighbours_;
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
  using stretch = emulated_team_member::stretch;
  std::deque<stretch> stretches;
  for (int first = 0; first < threads; first += stretch::most_threads) {
    stretches.emplace_back(std::min(threads - first, stretch::most_threads));
  }
  std::vector<std::jthread> running;
  for (int rank = 0; rank < threads; ++rank) {
    running.emplace_back([&, rank] {
      for (int team = 0; team < teams; ++team) {
        if (rank == 0 && !scratch.empty()) std::memset(memory, 0xff, kernel.scratch_bytes());
        barrier.arrive_and_wait();
        stretch& neighbours = stretches[static_cast<std::size_t>(rank / stretch::most_threads)];
        kernel(emulated_team_member(rank, team, teams, barrier, neighbours, memory));
        barrier.arrive_and_wait();
      }
    });
  }
}

}  // namespace prumo::tests
