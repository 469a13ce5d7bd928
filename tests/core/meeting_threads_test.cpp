// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of a host that wait for each other within one launch.

#include <prumo/detail/host/meeting_threads.hpp>
#include <prumo/spaces.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace prumo {
namespace {

constexpr int rounds = 50;

/// In each round, a thread adds its neighbour's number of the round before to its own. So a thread that does not wait
/// for the others, or does not see what they wrote, computes another number.
struct neighbour_sums {
  std::vector<long> of[2];
  int threads = 0;

  explicit neighbour_sums(int most) : of{std::vector<long>(most), std::vector<long>(most)} {}

  static void run(const void* kernel, int thread, int threads) {
    auto& sums = *const_cast<neighbour_sums*>(static_cast<const neighbour_sums*>(kernel));
    const auto own = static_cast<std::size_t>(thread), next = static_cast<std::size_t>((thread + 1) % threads);
    if (thread == 0) sums.threads = threads;
    sums.of[0][own] = thread + 1;
    for (std::size_t round = 0; round < rounds; ++round) {
      if (threads > 1) detail::meet_threads();
      const std::vector<long>& before = sums.of[round % 2];
      sums.of[(round + 1) % 2][own] = (before[own] + before[next]) % 1000003;
    }
  }

  /// What one thread computes for all of them.
  static std::vector<long> expected(int threads) {
    const auto count = static_cast<std::size_t>(threads);
    std::vector<long> sums(count);
    for (std::size_t i = 0; i < count; ++i) sums[i] = static_cast<long>(i) + 1;
    for (int round = 0; round < rounds; ++round) {
      std::vector<long> now(count);
      for (std::size_t i = 0; i < count; ++i) now[i] = (sums[i] + sums[(i + 1) % count]) % 1000003;
      sums = now;
    }
    return sums;
  }
};

template <class Exec>
void expect_sums(const Exec& instance, int wanted) {
  neighbour_sums sums(wanted);
  detail::launch_meeting_threads(instance, "prumo::test::meeting", wanted, {neighbour_sums::run, &sums});
  ASSERT_GE(sums.threads, 1);
  ASSERT_LE(sums.threads, wanted);
  std::vector<long> result = sums.of[rounds % 2];
  result.resize(static_cast<std::size_t>(sums.threads));
  EXPECT_EQ(result, neighbour_sums::expected(sums.threads)) << wanted << " threads wanted";
}

template <class Exec>
void expect_meetings() {
  if constexpr (is_host_space<Exec>) {
    const Exec instance;
    const int most = detail::most_meeting_threads(instance);
    EXPECT_LE(most, concurrency_of(instance));
    for (int threads = 1; threads <= most; ++threads) expect_sums(instance, threads);
  }
}

TEST(meeting_threads, see_what_the_others_wrote) {
#define PRUMO_EXPECT_MEETINGS(Space) expect_meetings<Space>();
  PRUMO_FOR_EACH_SPACE(PRUMO_EXPECT_MEETINGS)
#undef PRUMO_EXPECT_MEETINGS
}

#if defined(KOKKOS_ENABLE_OPENMP)
TEST(meeting_threads, are_as_many_as_asked_for_on_openmp) {
  const Kokkos::OpenMP instance;
  EXPECT_EQ(detail::most_meeting_threads(instance), concurrency_of(instance));
}

// OpenMP gives a region within a region one thread, which has nobody to wait for.
TEST(meeting_threads, is_one_within_a_parallel_region) {
  const Kokkos::OpenMP instance;
  const int threads = concurrency_of(instance);
  std::vector<neighbour_sums> sums(static_cast<std::size_t>(threads), neighbour_sums(threads));
#pragma omp parallel for num_threads(threads)
  for (int i = 0; i < threads; ++i) {
    neighbour_sums& own = sums[static_cast<std::size_t>(i)];
    detail::launch_meeting_threads(instance, "prumo::test::meeting", threads, {neighbour_sums::run, &own});
  }
  for (const neighbour_sums& own : sums) {
    ASSERT_GE(own.threads, 1);
    const std::vector<long> expected = neighbour_sums::expected(own.threads);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), own.of[rounds % 2].begin()));
  }
}
#endif

}  // namespace
}  // namespace prumo
