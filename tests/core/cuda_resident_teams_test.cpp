// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose teams wait for each other: called one by one, in a graph, beside other kernels, and too large ones.

#include "own_instance.hpp"
#include <prumo/detail/device/owned_handle.hpp>
#include <prumo/detail/device/resident_teams.hpp>
#include <prumo/detail/device/team_resources.hpp>
#include <prumo/detail/teams/arrival_counters.hpp>
#include <prumo/detail/teams/published_values.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cuda_runtime_api.h>

namespace prumo {
namespace {

using numbers = Kokkos::View<unsigned*, Kokkos::CudaSpace>;

/// Every team publishes a number and adds up those of all teams, later ones, too: results[rank] = 1 + ... + teams.
struct meeting_kernel {
  static constexpr int most_threads = 64;
  static constexpr int resident_teams = 2;
  static constexpr bool teams_wait_for_each_other = true;
  std::int64_t teams;
  detail::published_word* words;
  unsigned* arrivals;
  unsigned* results;

  int team_threads() const { return most_threads; }
  std::int64_t blocks() const { return teams; }
  std::int64_t blocks_per_team() const { return 1; }
  std::size_t scratch_bytes() const { return detail::join_scratch<unsigned>::bytes_for(most_threads); }

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto scratch = detail::team_join_scratch<unsigned>(member, most_threads);
    const int rank = member.league_rank(), thread = member.team_rank();
    if (thread == 0) detail::publish(words + rank, static_cast<unsigned>(rank) + 1);
    unsigned sum = 0;
    for (int which = thread; which < teams; which += most_threads) {
      unsigned value[1];
      detail::wait_for_published(words, which, most_threads, which + 1, value);
      sum += value[0];
    }
    sum = detail::join_group(member, scratch, most_threads, sum, [](unsigned a, unsigned b) { return a + b; });
    if (thread == 0) results[rank] = sum;
    detail::clear_published_as_last(words, static_cast<int>(teams), arrivals, static_cast<int>(teams), thread);
  }
};

class resident_teams : public testing::Test {
 protected:
  void SetUp() override {
    if (!detail::launches_by_cuda_runtime<Kokkos::Cuda>) GTEST_SKIP() << "Kokkos launches no such kernels";
    if (!detail::runs_resident_teams<meeting_kernel>(instance, 1024)) GTEST_SKIP() << "the device runs no such kernels";
  }

  /// Launches a kernel for the words of a context, which another one may use at the same time.
  static bool launch(context<Kokkos::Cuda>& ctx, std::int64_t teams, const numbers& results) {
    if constexpr (detail::launches_by_cuda_runtime<Kokkos::Cuda>) {
      return detail::try_launch_resident_teams(
          ctx.instance(), "meeting",
          meeting_kernel{teams, detail::published_words_of(ctx), detail::arrival_counters_of(ctx), results.data()});
    }
    return false;
  }

  static void expect_sums(const numbers& results, std::int64_t teams) {
    const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, results);
    const auto sum = static_cast<unsigned>(teams * (teams + 1) / 2);
    for (std::int64_t rank = 0; rank < teams; ++rank) ASSERT_EQ(copy(rank), sum) << rank << " of " << teams;
    Kokkos::deep_copy(results, 0U);
  }

  Kokkos::Cuda instance = tests::make_own_instance<Kokkos::Cuda>();
  context<Kokkos::Cuda> ctx{instance};
  std::int64_t most = meeting_kernel::resident_teams * detail::team_resources_of(instance).multiprocessors;
  numbers results{"results", static_cast<std::size_t>(most)};
};

TEST_F(resident_teams, wait_for_all_others) {
  for (const std::int64_t teams : {std::int64_t{1}, std::int64_t{2}, most / 2 + 1, most, std::int64_t{3}}) {
    ASSERT_TRUE(launch(ctx, teams, results));
    instance.fence();
    expect_sums(results, teams);
  }
}

TEST_F(resident_teams, follow_each_other_in_a_graph) {
  ASSERT_TRUE(launch(ctx, most, results));
  instance.fence();
  ASSERT_EQ(cudaStreamBeginCapture(instance.cuda_stream(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (int times = 0; times < 3; ++times) EXPECT_TRUE(launch(ctx, most - times, results));
  EXPECT_TRUE(launch(ctx, most, results));
  detail::owned_handle<cudaGraph_t, cudaGraphDestroy> graph;
  ASSERT_EQ(cudaStreamEndCapture(instance.cuda_stream(), graph.receive()), cudaSuccess);
  detail::owned_handle<cudaGraphExec_t, cudaGraphExecDestroy> executable;
  ASSERT_EQ(cudaGraphInstantiate(executable.receive(), graph, 0), cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(cudaGraphLaunch(executable, instance.cuda_stream()), cudaSuccess);
    instance.fence();
    expect_sums(results, most);
  }
}

/// Neither kernel may hold places that the other one needs, and wait for ever.
TEST_F(resident_teams, run_beside_those_of_another_stream) {
  const Kokkos::Cuda second = tests::make_own_instance<Kokkos::Cuda>();
  context<Kokkos::Cuda> second_ctx(second);
  const numbers second_results("second_results", static_cast<std::size_t>(most));
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(launch(ctx, most, results));
    ASSERT_TRUE(launch(second_ctx, most - round % 7, second_results));
  }
  instance.fence();
  second.fence();
  expect_sums(results, most);
  expect_sums(second_results, most - 199 % 7);
}

TEST_F(resident_teams, are_not_launched_if_there_is_no_room_for_all) {
  const std::int64_t too_many = 64 * most;
  const numbers unwritten("unwritten", static_cast<std::size_t>(too_many));
  EXPECT_FALSE(launch(ctx, too_many, unwritten));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  instance.fence();
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, unwritten);
  for (std::int64_t rank = 0; rank < too_many; ++rank) ASSERT_EQ(copy(rank), 0U) << rank;
  ASSERT_TRUE(launch(ctx, most, results));
  instance.fence();
  expect_sums(results, most);
}

}  // namespace
}  // namespace prumo
