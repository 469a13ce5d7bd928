// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/serving/sampling.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
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

/// A machine under load makes calls longer, never shorter. So the largest batch of several tries counts.
TEST(sampler, batches_short_calls_to_the_least_interval) {
  constexpr int tries = 50;
  std::uint64_t most = 0;
  for (int i = 0; i < tries && most < 10; ++i) {
    waiting_calls calls(2e-5);
    sampler measured(calls, 1);
    const sample_times times = measured.sample(0.02);
    most = std::max(most, times.batch);
    EXPECT_LE(times.batch, 75u);
    ASSERT_FALSE(times.wall.empty());
    for (const double seconds : times.wall) EXPECT_GE(seconds, 2e-5);
  }
  EXPECT_GE(most, 10u);
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

/// Calls that say how long they took without taking it.
class claiming_calls : public timed_calls {
 public:
  explicit claiming_calls(double seconds) : seconds_(seconds) {}

  void enqueue(std::size_t) override {}
  void fence() override {}
  timed_interval run(std::uint64_t calls, std::size_t, std::size_t) override {
    timed_interval result;
    result.calls = calls;
    result.wall = seconds_ * static_cast<double>(calls);
    made += calls;
    return result;
  }

  std::uint64_t made = 0;

 private:
  double seconds_;
};

TEST(sampler, long_calls_are_samples_from_the_first_one_on) {
  claiming_calls seconds_long(2);
  sampler of_seconds(seconds_long, 1);
  EXPECT_EQ(of_seconds.sample(0.05).wall, std::vector<double>{2});
  EXPECT_EQ(seconds_long.made, 1u);

  claiming_calls shorter(0.25);
  sampler of_shorter(shorter, 1);
  EXPECT_EQ(of_shorter.sample(0.05).wall, std::vector<double>{0.25});
  EXPECT_EQ(shorter.made, 2u) << "the first call, which also starts threads, is no sample";
}

/// A verification makes an interval of its own, after it is known how the calls of all intervals are made.
TEST(sampler, an_interval_that_is_verified_is_one_of_those_that_are_timed) {
  class settling_calls final : public claiming_calls {
   public:
    using claiming_calls::claiming_calls;
    void settle(std::uint64_t calls, std::size_t copies) override {
      EXPECT_EQ(settled, 0u) << "once only";
      EXPECT_EQ(copies, 3u);
      settled = calls;
    }
    timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies) override {
      last_copy = (first + calls - 1) % copies;
      last_calls = calls;
      return claiming_calls::run(calls, first, copies);
    }
    std::uint64_t settled = 0, last_calls = 0;
    std::size_t last_copy = 99;
  };
  settling_calls calls(3e-4);
  sampler measured(calls, 3);
  measured.calibrate();
  ASSERT_GT(calls.settled, 0u);
  for (int repetition = 0; repetition < 4; ++repetition) {
    const std::size_t expected = measured.last_copy();
    measured.run_interval();
    EXPECT_EQ(calls.last_copy, expected);
    EXPECT_EQ(calls.last_calls, calls.settled);
  }
  EXPECT_FALSE(measured.holds_samples());
  EXPECT_EQ(measured.sample(0).batch, calls.settled);

  claiming_calls long_ones(2);
  sampler of_long_ones(long_ones, 1);
  of_long_ones.calibrate();
  EXPECT_TRUE(of_long_ones.holds_samples());
  EXPECT_EQ(of_long_ones.sample(0).wall.size(), 1u);
  EXPECT_FALSE(of_long_ones.holds_samples());
}

/// Recorded calls use all copies, as often as they are replayed, so an interval ends with the last one.
TEST(sampler, asks_the_calls_which_copy_an_interval_uses_last) {
  class recorded_calls final : public claiming_calls {
   public:
    using claiming_calls::claiming_calls;
    timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies) override {
      return claiming_calls::run((calls + copies - 1) / copies * copies, first, copies);
    }
    std::size_t last_copy(std::uint64_t, std::size_t, std::size_t copies) const override { return copies - 1; }
  };
  recorded_calls calls(2.7e-4);
  sampler measured(calls, 7);
  measured.calibrate();
  EXPECT_EQ(measured.last_copy(), 6u);
  measured.run_interval();
  EXPECT_EQ(measured.last_copy(), 6u);
}

/// 1e300 s are more intervals than any integer holds, and so is a batch of the calls that fit into one of them.
TEST(sampler, takes_times_that_no_integer_holds) {
  constexpr double ages = 1e300;
  claiming_calls long_ones(ages);
  sampler of_long_ones(long_ones, 1);
  EXPECT_EQ(of_long_ones.sample(ages).wall, std::vector<double>{ages});

  claiming_calls short_ones(1e-6);
  sampler endless(short_ones, 1);
  EXPECT_EQ(endless.sample(std::numeric_limits<double>::infinity()).wall.size(), std::size_t{1} << 20);

  claiming_calls other_ones(1e-6);
  sampler of_ages(other_ones, 1, ages);
  EXPECT_EQ(of_ages.sample(1e-3).batch, other_ones.most_calls());
}

TEST(sampler, device_times_and_transfers_are_those_of_single_calls) {
  class copying_calls final : public claiming_calls {
   public:
    using claiming_calls::claiming_calls;
    timed_interval run(std::uint64_t calls, std::size_t first, std::size_t copies) override {
      timed_interval result = claiming_calls::run(std::min(calls, most_calls()), first, copies);
      result.device = result.wall / 2;
      result.h2d = result.wall / 8;
      result.d2h = result.wall / 16;
      return result;
    }
    std::uint64_t most_calls() const override { return 4; }
  };
  copying_calls calls(1.0 / 4096);
  sampler measured(calls, 3);
  const sample_times times = measured.sample(0.01);
  EXPECT_EQ(times.batch, 4u) << "no more calls than it can make at once";
  ASSERT_GE(times.device.size(), 2u);
  EXPECT_EQ(times.wall.front(), 1.0 / 4096);
  EXPECT_EQ(times.device.front(), 1.0 / 8192);
  EXPECT_EQ(times.h2d.front(), 1.0 / 32768);
  EXPECT_EQ(times.d2h.front(), 1.0 / 65536);
}

TEST(cold_copies, of_calls_that_touch_a_part_are_as_many_as_the_part_needs) {
  EXPECT_EQ(cold_copies(5000, 100, 1000), 20u);
  EXPECT_EQ(cold_copies(5000, 5000, 1000), 1u);
  EXPECT_EQ(cold_copies(5000, 0, 1000), 1u);
  EXPECT_EQ(cold_copies(std::size_t{1} << 30, 100, 1000), 2u) << "of 2 GiB";
  EXPECT_EQ(cold_copies(std::size_t{3} << 30, 100, 1000), 1u);
}

TEST(cold_copies, of_arrays_shorter_than_a_line_are_as_many_as_the_lines_need) {
  EXPECT_EQ(cold_copies(120, 192, 1000), 11u);
  EXPECT_EQ(cold_copies(120, 120, 1000), 17u);
}

TEST(cold_copies, are_twice_the_cache_together) {
  EXPECT_EQ(cold_copies(100, 1000), 20u);
  EXPECT_EQ(cold_copies(300, 1000), 7u);
  EXPECT_EQ(cold_copies(5000, 1000), 1u);
  EXPECT_EQ(cold_copies(0, 1000), 1u);
}

}  // namespace
}  // namespace prumo::protocol
