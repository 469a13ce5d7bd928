// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan.hpp"

#include "plan/plan_selection.hpp"
#include "run_program.hpp"
#include "terminal/program_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <tuple>

namespace prumo::bench::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class planning : public ::testing::Test {
 protected:
  bench_plan plan(const std::vector<std::string>& worker_options = {}) {
    fleet_ = std::make_unique<worker_fleet>(std::vector{fake_worker(worker_options)}, worker_client::options{});
    fleet_->start();
    fleet_->read_facts();
    return make_plan(options, *fleet_);
  }

  static std::set<std::string> ops(const bench_plan& made) {
    std::set<std::string> names;
    for (const planned_group& group : made.groups) names.insert(group.op);
    return names;
  }

  plan_options options;

 private:
  std::unique_ptr<worker_fleet> fleet_;
};

TEST_F(planning, the_default_sweep_takes_default_operations_at_four_sizes) {
  const bench_plan made = plan();
  EXPECT_EQ(ops(made), (std::set<std::string>{"add", "mul", "scale", "softmax", "gemm"}));
  EXPECT_EQ(made.groups.size(), 5U * 4U);
  EXPECT_EQ(made.case_count(), 5U * 4U) << "a host device has no transfers";
  for (const planned_group& group : made.groups) EXPECT_EQ(group.dtype, "f32");
}

TEST_F(planning, transfers_are_planned_where_there_are_any_or_where_they_are_named) {
  EXPECT_EQ(plan({"--backend", "cuda"}).case_count(), 5U * 4U * 3U) << "resident, pinned, pageable";
  options.data = {"resident", "transferred"};
  EXPECT_EQ(plan({"--backend", "cuda"}).case_count(), 5U * 4U * 3U);
  EXPECT_EQ(plan().case_count(), 5U * 4U * 3U) << "the host device says that it has none";
  options.data = {};
  options.extent = sweep::quick;
  EXPECT_EQ(plan({"--backend", "cuda"}).case_count(), 5U * 2U * 2U) << "resident, pinned";
}

TEST_F(planning, the_roof_is_of_the_traffic) {
  options.sizes = {1U << 20};
  for (const auto& [op, roof] : {std::pair("add", memory_roof::triad),
                                 {"scale", memory_roof::copy},
                                 {"sum", memory_roof::read},
                                 {"fill", memory_roof::write}}) {
    options.ops = {op};
    EXPECT_EQ(memory_roof_of(plan().groups.at(0)), roof) << op;
  }
}

TEST_F(planning, quick_takes_two_sizes_and_full_everything_but_probes) {
  options.extent = sweep::quick;
  EXPECT_EQ(plan().groups.size(), 5U * 2U);
  options.extent = sweep::full;
  const bench_plan full = plan();
  EXPECT_TRUE(ops(full).contains("negate"));
  EXPECT_FALSE(ops(full).contains("triad"));
  std::set<std::string> dtypes;
  std::set<std::string> layouts;
  for (const planned_group& group : full.groups) {
    dtypes.insert(group.dtype);
    layouts.insert(group.layout);
  }
  EXPECT_EQ(dtypes.size(), 2U);
  EXPECT_EQ(layouts.size(), 2U);
}

TEST_F(planning, all_takes_every_operation_once_and_no_probe) {
  options.sizes = {1U << 20};
  options.ops = {"gemm", "all"};
  const bench_plan made = plan();
  EXPECT_TRUE(ops(made).contains("negate"));
  EXPECT_TRUE(ops(made).contains("add"));
  EXPECT_FALSE(ops(made).contains("triad"));
  EXPECT_EQ(made.groups.at(0).op, "gemm");
  EXPECT_EQ(made.groups.size(), ops(made).size());
}

TEST_F(planning, filters_multiply) {
  options.ops = {"gemm"};
  options.sizes = {1U << 20, 4U << 20};
  options.dtypes = {"f32", "f64"};
  options.caches = {"cold", "hot"};
  options.data = {"resident"};
  options.implementations = {"all"};
  const bench_plan made = plan();
  EXPECT_EQ(made.groups.size(), 4U);
  EXPECT_EQ(made.case_count(), 4U * 2U * 2U);
  EXPECT_EQ(made.groups[0].shape, (nlohmann::json{{"m", 512}, {"n", 512}, {"k", 512}}));
  options.dispatches = {"recorded", "single"};
  EXPECT_EQ(plan().case_count(), 4U * 2U * 2U * 2U);
}

TEST_F(planning, a_dispatch_that_does_not_exist_is_refused) {
  options.dispatches = {"singel"};
  try {
    std::ignore = plan();
    FAIL();
  } catch (const program_error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--dispatch"), HasSubstr("'singel'"), HasSubstr("single")));
  }
}

TEST_F(planning, a_type_that_a_device_lacks_is_unsupported_in_the_words_of_its_worker) {
  worker_fleet fleet(std::vector{fake_worker({}), fake_worker({"--backend", "cuda"})}, worker_client::options{});
  fleet.start();
  fleet.read_facts();
  options.ops = {"gemm"};
  options.dtypes = {"f16"};
  options.sizes = {1U << 20};
  options.data = {"resident"};
  const bench_plan made = make_plan(options, fleet);
  ASSERT_EQ(made.groups.size(), 1U);
  std::vector<std::string> reasons;
  for (const planned_case& it : made.groups[0].cases) {
    if (it.outcome) reasons.push_back(it.outcome->status + ": " + it.outcome->reason);
  }
  EXPECT_THAT(reasons, testing::ElementsAre(HasSubstr(
                           "unsupported: fake:0 does not support f16 for gemm: this processor multiplies none")));
}

TEST_F(planning, a_complete_shape_needs_no_size) {
  options.ops = {"softmax"};
  options.shapes = {{{"rows", 100}}};
  const bench_plan made = plan();
  ASSERT_EQ(made.groups.size(), 1U);
  EXPECT_EQ(made.groups[0].shape, (nlohmann::json{{"rows", 100}, {"columns", 1024}}));
  options.shapes = {{{"columns", 64}}};
  options.sizes = {1U << 20};
  EXPECT_EQ(plan().groups.at(0).shape, (nlohmann::json{{"rows", 4096}, {"columns", 64}}));
}

TEST_F(planning, each_operation_takes_the_shapes_that_name_its_axes) {
  options.ops = {"softmax", "add"};
  options.shapes = {{{"rows", 100}, {"columns", 7}}, {{"n", 12}}, {{"rows", 5}}};
  const bench_plan made = plan();
  ASSERT_EQ(made.groups.size(), 3U);
  EXPECT_EQ(made.groups[0].shape, (nlohmann::json{{"rows", 100}, {"columns", 7}}));
  EXPECT_EQ(made.groups[1].shape, (nlohmann::json{{"rows", 5}, {"columns", 1024}}));
  EXPECT_EQ(made.groups[2].op, "add");
  EXPECT_EQ(made.groups[2].shape, (nlohmann::json{{"n", 12}}));
  options.shapes.pop_back();
  options.shapes.erase(options.shapes.begin());
  options.sizes = {1U << 20};
  EXPECT_EQ(plan().groups.at(0).shape, (nlohmann::json{{"rows", 256}, {"columns", 1024}}));
}

TEST_F(planning, parameters_apply_to_the_operations_that_have_them) {
  options.ops = {"add", "scale"};
  options.sizes = {1U << 20};
  options.parameters = {{"alpha", 3}};
  const bench_plan made = plan();
  EXPECT_EQ(made.groups.at(0).parameters, nlohmann::json::object());
  EXPECT_EQ(made.groups.at(1).parameters, (nlohmann::json{{"alpha", 3}}));
}

TEST_F(planning, an_implementation_chooses_its_operations) {
  options.implementations = {"portable"};
  EXPECT_EQ(ops(plan()), (std::set<std::string>{"gemm"}));
}

TEST(implementations, tune_takes_the_tuned_one_where_there_is_one_and_none_is_named) {
  protocol::case_description described;
  described.implementations = {"auto", "library", "tuned", "portable"};
  axis_choice choice;
  using names = std::vector<std::optional<std::string>>;
  EXPECT_EQ(implementations_for(choice, described), names{std::nullopt});
  choice.tune = true;
  EXPECT_EQ(implementations_for(choice, described), names{"tuned"});
  choice.implementations = {"portable"};
  EXPECT_EQ(implementations_for(choice, described), names{"portable"});
  choice.implementations.clear();
  described.implementations = {"kernel"};
  EXPECT_EQ(implementations_for(choice, described), names{std::nullopt});
}

TEST_F(planning, refuses_when_nothing_fits) {
  options.ops = {"add"};
  options.sizes = {std::uint64_t{1} << 40};
  try {
    std::ignore = plan({"--memory", "1000"});
    FAIL() << "no error was reported";
  } catch (const program_error& error) {
    EXPECT_EQ(error.code(), exit_code::machine_cannot);
    EXPECT_THAT(error.what(), HasSubstr("choose a smaller --size"));
  }
}

}  // namespace
}  // namespace prumo::bench::test
