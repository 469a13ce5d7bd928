// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/sampling.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace prumo::protocol {
namespace {

/// Calls that take a known time at least.
class waiting_calls : public timed_calls {
 public:
  explicit waiting_calls(double seconds) : seconds_(seconds) {}

  void enqueue(std::size_t copy) override {
    copies.push_back(copy);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds_) continue;
  }
  void fence() override { ++fences; }

  std::vector<std::size_t> copies;
  int fences = 0;

 private:
  double seconds_;
};

TEST(sampler, batches_short_calls_to_the_least_interval) {
  waiting_calls calls(2e-5);
  sampler measured(calls, 1);
  const sample_times times = measured.sample(0.02);
  EXPECT_GE(times.batch, 10u);  // a machine under load makes calls longer, never shorter
  EXPECT_LE(times.batch, 75u);
  ASSERT_FALSE(times.wall.empty());
  for (const double seconds : times.wall) EXPECT_GE(seconds, 2e-5);
}

TEST(sampler, long_calls_are_timed_one_by_one) {
  waiting_calls calls(2e-3);
  sampler measured(calls, 1);
  EXPECT_EQ(measured.sample(0.01).batch, 1u);
}

TEST(sampler, takes_at_least_one_sample) {
  waiting_calls calls(1e-3);
  sampler measured(calls, 1);
  EXPECT_EQ(measured.sample(0).wall.size(), 1u);
}

TEST(sampler, rotates_copies_across_requests) {
  waiting_calls calls(4e-4);
  sampler measured(calls, 3);
  measured.sample(0);
  measured.sample(0.003);
  for (std::size_t call = 0; call < calls.copies.size(); ++call) EXPECT_EQ(calls.copies[call], call % 3);
}

TEST(sampler, fences_once_an_interval) {
  waiting_calls calls(2e-3);
  sampler measured(calls, 1);
  measured.sample(0);
  const int before = calls.fences;
  const auto samples = measured.sample(0.01).wall.size();
  EXPECT_EQ(calls.fences - before, static_cast<int>(samples));
}

TEST(sampler, calibrates_once) {
  waiting_calls calls(1.5e-3);
  sampler measured(calls, 1);
  measured.sample(0);
  const std::size_t before = calls.copies.size();
  measured.sample(0);
  EXPECT_EQ(calls.copies.size() - before, 1u);
}

TEST(cold_copies, are_twice_the_cache_together) {
  EXPECT_EQ(cold_copies(100, 1000), 20u);
  EXPECT_EQ(cold_copies(300, 1000), 7u);
  EXPECT_EQ(cold_copies(5000, 1000), 1u);
  EXPECT_EQ(cold_copies(0, 1000), 1u);
}

}  // namespace
}  // namespace prumo::protocol
