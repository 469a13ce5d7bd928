// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/time_model.hpp"

#include "run_program.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace prumo::bench::test {
namespace {

class estimates : public ::testing::Test {
 protected:
  void SetUp() override { start({}); }
  void start(const std::vector<std::string>& options) {
    fleet_ = std::make_unique<worker_fleet>(std::vector{fake_worker(options)}, worker_client::options{});
    fleet_->start();
    times = std::make_unique<time_model>(*fleet_);
  }

  /// A footprint of three arrays of this number of bytes, and flops that are a multiple of the bytes.
  static planned_group group_of(const char* op, double bytes, double intensity = 0.1) {
    planned_group group;
    group.op = op;
    group.dtype = "f32";
    group.layout = "right";
    group.bytes_per_array = bytes;
    group.footprint_bytes = 3 * bytes;
    group.arrays = 3;
    group.model = {{"bytes", 3 * bytes}, {"flops", 3 * bytes * intensity}, {"elements", bytes / 4}, {"unit", "vector"}};
    group.cases.push_back({0, "resident", std::nullopt, "cold", std::nullopt, std::nullopt});
    return group;
  }
  static double call(const time_model& model, const planned_group& group) {
    return model.call_seconds(group, group.cases.front());
  }

  std::unique_ptr<time_model> times;

 private:
  std::unique_ptr<worker_fleet> fleet_;
};

TEST_F(estimates, grow_with_the_work) {
  EXPECT_GT(call(*times, group_of("add", 1e8)), 5 * call(*times, group_of("add", 1e7)));
  EXPECT_GT(call(*times, group_of("gemm", 1e7, 1000)), 5 * call(*times, group_of("add", 1e7)));
}

/// A peer's backend has a name of its own. Taken for a host, its large cases would seem to leave no time for samples.
TEST_F(estimates, of_a_gpu_are_the_same_whatever_its_backend_is_called) {
  const planned_group group = group_of("add", 5e8);
  const planned_case& which = group.cases.front();
  start({"--backend", "cuda"});
  const double call_seconds = call(*times, group);
  const double prepare_seconds = times->prepare_seconds(group, which);
  start({"--backend", "torch-cuda"});
  EXPECT_EQ(call(*times, group), call_seconds);
  EXPECT_EQ(times->prepare_seconds(group, which), prepare_seconds);
}

TEST_F(estimates, of_another_size_follow_what_was_measured) {
  const planned_group small = group_of("gemm", 1e6, 1000);
  const planned_group large = group_of("gemm", 1e8, 1000);
  const std::vector<double> samples(5, 0.25);
  times->learn_call(small, small.cases.front(), samples);
  EXPECT_NEAR(call(*times, small), 0.25, 1e-3);
  EXPECT_NEAR(call(*times, large), 25, 0.1);
}

TEST_F(estimates, of_operations_that_were_not_measured_follow_the_device) {
  const planned_group add = group_of("add", 1e8);
  const planned_group mul = group_of("mul", 1e8);
  const double before = call(*times, mul);
  times->learn_call(add, add.cases.front(), std::vector<double>(5, 10 * before));
  EXPECT_NEAR(call(*times, mul), 10 * before, before);
}

TEST_F(estimates, add_what_a_busy_machine_disturbs_and_do_not_multiply_it) {
  const planned_group small = group_of("add", 1e6);
  const planned_group large = group_of("add", 1e8);
  times->learn_call(small, small.cases.front(), std::vector<double>{1e-4, 1e-2, 1e-2, 1e-2, 1e-2});
  EXPECT_LT(call(*times, large), 0.03) << "a hundred times the fastest, and a disturbance";
}

TEST_F(estimates, a_reference_gets_what_fits_within_bounds) {
  const planned_group group = group_of("gemm", 1e7, 1000);
  const planned_case& which = group.cases.front();
  EXPECT_EQ(times->verify_budget(group, which, 0), time_model::least_verify_budget);
  EXPECT_EQ(times->verify_budget(group, which, 1e6), time_model::usual_verify_budget);
  const double some = times->verify_seconds(group, which, 1e7);
  EXPECT_NEAR(times->verify_budget(group, which, some), 1e7, 1e5);
}

TEST_F(estimates, what_preparing_took_corrects_the_next) {
  const planned_group group = group_of("add", 1e9);
  const planned_case& which = group.cases.front();
  const double before = times->prepare_seconds(group, which);
  times->learn_prepare(group, which, 3 * before);
  EXPECT_NEAR(times->prepare_seconds(group, which), 3 * before, 1e-6);
}

/// It holds the loading of libraries and kernels.
TEST_F(estimates, the_first_of_a_process_run_tells_nothing_of_the_next) {
  const planned_group group = group_of("add", 1e6);
  const planned_case& which = group.cases.front();
  const double before = times->prepare_seconds(group, which);
  times->begin_process_run();
  times->learn_prepare(group, which, 3);
  EXPECT_EQ(times->prepare_seconds(group, which), before);
  times->learn_prepare(group, which, 2 * before);
  EXPECT_NEAR(times->prepare_seconds(group, which), 2 * before, 1e-6);
  times->begin_process_run();
  times->learn_prepare(group, which, 3);
  EXPECT_NEAR(times->prepare_seconds(group, which), 2 * before, 1e-6);
}

/// Another operation has other kernels, and may be the first that needs a library.
TEST_F(estimates, the_first_of_an_operation_tells_nothing_of_the_next) {
  const planned_group group = group_of("add", 1e6);
  const planned_case& which = group.cases.front();
  times->begin_process_run();
  times->learn_prepare(group, which, 3);
  const double before = times->prepare_seconds(group, which);
  const planned_group other = group_of("gemm", 1e6, 1000);
  times->learn_prepare(other, other.cases.front(), 20);
  EXPECT_EQ(times->prepare_seconds(group, which), before);
}

TEST_F(estimates, a_slow_moment_is_not_expected_of_the_next) {
  const planned_group group = group_of("add", 1e6);
  const planned_case& which = group.cases.front();
  const double usual = 2 * times->prepare_seconds(group, which);
  for (const double seconds : {usual, 10.0, usual, 20.0, usual}) times->learn_prepare(group, which, seconds);
  EXPECT_NEAR(times->prepare_seconds(group, which), usual, 1e-3);
}

TEST_F(estimates, of_chores_change_with_the_machine) {
  const planned_group group = group_of("add", 1e6);
  const planned_case& which = group.cases.front();
  for (int i = 0; i < 5; ++i) times->learn_prepare(group, which, 0.01);
  for (int i = 0; i < 3; ++i) times->learn_prepare(group, which, 0.1);
  EXPECT_NEAR(times->prepare_seconds(group, which), 0.1, 0.01);
}

/// A case that is left out teaches nothing, so a wrong estimate would leave out all others.
TEST_F(estimates, in_doubt_become_usual_again) {
  const planned_group group = group_of("add", 1e6);
  const planned_case& which = group.cases.front();
  const double prepare = times->prepare_seconds(group, which);
  const double verify = times->verify_seconds(group, which, 1e6);
  for (int i = 0; i < 2; ++i) {
    times->learn_prepare(group, which, 10);
    times->learn_verify(group, which, 1e6, 10);
  }
  EXPECT_GT(times->prepare_seconds(group, which), 5);
  EXPECT_GT(times->verify_seconds(group, which, 1e6), 5);
  for (int i = 0; i < 2; ++i) times->doubt_chores(which);
  EXPECT_EQ(times->prepare_seconds(group, which), prepare);
  EXPECT_EQ(times->verify_seconds(group, which, 1e6), verify);
}

TEST_F(estimates, what_a_request_costs_in_itself_is_not_multiplied) {
  const planned_group small = group_of("add", 1e4);
  const planned_group large = group_of("add", 1e9);
  planned_case which = small.cases.front();
  which.cache = "hot";  // a small case that is cold has many copies
  const double before = times->prepare_seconds(large, which);
  times->learn_prepare(small, which, 0.02);
  EXPECT_NEAR(times->prepare_seconds(small, which), 0.02, 1e-3);
  EXPECT_NEAR(times->prepare_seconds(large, which), before + 0.02, 0.01) << "not twenty times as long";
}

/// The same case with its data in such memory of the host before every call.
planned_case transferred(planned_case which, const std::string& host_memory) {
  which.data = "transferred";
  which.host_memory = host_memory;
  return which;
}

TEST_F(estimates, what_freeing_took_corrects_the_next) {
  const planned_group group = group_of("add", 1e9);
  const planned_case& resident = group.cases.front();
  const planned_case pinned = transferred(resident, "pinned");
  const double before = times->release_seconds(group, resident);
  EXPECT_GT(times->release_seconds(group, pinned), before + 0.05);
  times->learn_release(group, pinned, 7);
  EXPECT_NEAR(times->release_seconds(group, pinned), 7, 1e-6);
  EXPECT_EQ(times->release_seconds(group, resident), before);
}

TEST_F(estimates, memory_for_transfers_takes_time_of_its_own) {
  const planned_group group = group_of("add", 1e9);
  const planned_case& resident = group.cases.front();
  const planned_case pinned = transferred(resident, "pinned");
  const planned_case pageable = transferred(resident, "pageable");
  EXPECT_GT(times->prepare_seconds(group, pinned), times->prepare_seconds(group, resident) + 1);
  const double before = times->prepare_seconds(group, pageable);
  times->learn_prepare(group, pinned, 10 * before);
  EXPECT_EQ(times->prepare_seconds(group, pageable), before) << "pinned memory tells nothing of pageable memory";
}

}  // namespace
}  // namespace prumo::bench::test
