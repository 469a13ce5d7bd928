// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which shapes and values are tried, and what a wrong closed form leads to.

#include <prumo/case/count_proof.hpp>
#include <prumo/case/test_choices.hpp>
#include <prumo/spaces.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace prumo::cases {
namespace {

using testing::HasSubstr;
using host = Kokkos::DefaultHostExecutionSpace;

/// Counts `width` additions an element, where rows are at least `width` long, and never runs.
struct counted_case : operation_case<host> {
  case_info description;
  std::uint64_t closed_form_of_five = 0;  ///< what the closed form says too much where n is 5

  counted_case() {
    description.op = "slide";
    description.axes = {{"n", "elements", 0, {0, 1, 3, 5, 8}}};
    description.values = {{"width", "additions", 2, nullptr, {1, 3}}};
  }
  case_info info() const override { return description; }
  shape resolve(dtype, std::int64_t, const shape& given) const override { return given; }
  std::vector<array_specification> arrays(const shape&, const parameters&) const override { return {}; }
  cost model(dtype, const shape& extents, const parameters&) const override {
    return {0, 0, static_cast<double>(extents.at("n"))};
  }
  void run(context<host>&, const specification&, case_arrays) const override {}
  std::int64_t reference_parts(const shape&, const parameters&) const override { return 0; }
  void reference(const specification&, const input_values&, std::int64_t,
                 std::vector<reference_entry>&) const override {}
  double reference_part_cost(const shape&, const parameters&) const override { return 1; }
  std::string why_invalid(const specification& choice) const override {
    const bool fits = choice.values.at("width") <= static_cast<double>(choice.shape.at("n"));
    return fits ? "" : "it is too wide";
  }
  flop_counts count_kernel(const specification& choice) const override {
    flop_counts counts;
    counts[flop_kind::add] =
        static_cast<std::uint64_t>(choice.shape.at("n")) * static_cast<std::uint64_t>(choice.values.at("width"));
    return counts;
  }
  flop_counts count_closed_form(const specification& choice) const override {
    flop_counts counts = count_kernel(choice);
    if (choice.shape.at("n") == 5) counts[flop_kind::add] += closed_form_of_five;
    return counts;
  }

  specification choice(double width) const {
    specification result = default_choice(description, dtype::f32);
    result.values.set("width", width);
    return result;
  }
};

/// What a proof throws.
std::string refusal_of(const counted_case& operation, double width) {
  try {
    prove_closed_form<host>(operation, operation.choice(width));
  } catch (const count_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(count_proof, passes_what_is_right) { EXPECT_EQ(refusal_of({}, 2), "nothing"); }

TEST(count_proof, tells_both_counts_and_where_they_differ) {
  counted_case operation;
  operation.closed_form_of_five = 1;
  EXPECT_THAT(refusal_of(operation, 2),
              HasSubstr("counted flops: the closed form of slide says 11 add, its kernel does "
                        "10 add (slide f32 right n=5 width=2 kernel)"));
}

TEST(count_proof, takes_the_parameters_of_the_tests_where_those_of_the_choice_fit_no_small_shape) {
  counted_case operation;
  EXPECT_EQ(refusal_of(operation, 100), "nothing");
  operation.closed_form_of_five = 1;
  EXPECT_THAT(refusal_of(operation, 100), HasSubstr("n=5 width=2"));
}

TEST(count_proof, wants_three_shapes) {
  counted_case operation;
  operation.description.axes[0].test_extents = {1};
  operation.description.values[0].test_values = {1, 3};
  EXPECT_THAT(refusal_of(operation, 2),
              HasSubstr("can be proven at 1 shapes only, expected 3; give its case_info more"));
}

TEST(count_proof, passes_operations_without_a_count) {
  struct uncounted final : counted_case {
    bool countable() const override { return false; }
  } operation;
  operation.closed_form_of_five = 1;
  EXPECT_EQ(refusal_of(operation, 2), "nothing");
}

TEST(test_choices, meet_each_extent_on_each_axis) {
  case_info info;
  info.axes = {{"a", "", 0, {1, 2}}, {"b", "", 0, {3, 4, 5}}, {"c", "", 0, {6, 7, 8, 9, 10}}, {"d", "", 0}};
  std::set<std::int64_t> met[4];
  for (const shape& extents : test_shapes(info)) {
    for (std::size_t axis = 0; axis < 4; ++axis) met[axis].insert(extents.at(info.axes[axis].name));
  }
  EXPECT_EQ(met[0].size(), 2u);
  EXPECT_EQ(met[1].size(), 3u);
  EXPECT_EQ(met[2].size(), 5u);
  EXPECT_TRUE(met[3].contains(0) && met[3].contains(127) && met[3].contains(4097)) << "an axis that names none";
}

TEST(test_choices, are_those_that_a_case_names) {
  case_info info;
  info.axes = {{"n", "", 0}};
  info.test_shapes = {{{"n", 7}}};
  ASSERT_EQ(test_shapes(info).size(), 1u);
  EXPECT_EQ(test_shapes(info).front().at("n"), 7);
  info.values = {{"alpha", "", 2}, {"window", "", 3, nullptr, {3, 5}}};
  std::vector<std::pair<double, double>> met;
  for (const parameters& values : test_parameters(info, dtype::f32, array_layout::right)) {
    met.emplace_back(values.at("alpha"), values.at("window"));
  }
  EXPECT_THAT(met, testing::ElementsAre(testing::Pair(2, 3), testing::Pair(0, 3), testing::Pair(1, 3),
                                        testing::Pair(-0.75, 3), testing::Pair(2, 5)));
}

}  // namespace
}  // namespace prumo::cases
