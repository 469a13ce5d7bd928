// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cases on the same arrays find out about calls that came before.

#include <prumo/case/prepared_case.hpp>
#include <prumo/memory.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prumo::cases {
namespace {

using host = Kokkos::DefaultHostExecutionSpace;

/// y = x. The implementation `careless` writes to its input afterwards, and `absent` does not exist.
struct copying_case : operation_case<host> {
  case_info info() const override {
    case_info result;
    result.op = "copying";
    result.axes = {{"n", "elements"}};
    result.implementations = {"careful", "careless", "absent"};
    return result;
  }
  shape resolve(dtype, std::int64_t, const shape& given) const override { return given; }
  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"x", array_role::input, {extents.at("n")}}, {"y", array_role::output, {extents.at("n")}}};
  }
  cost model(dtype, const shape&, const parameters&) const override { return {}; }
  void run(context<host>& ctx, const specification& choice, case_arrays arrays) const override {
    copy(ctx, arrays[0], arrays[1]);
    if (choice.implementation == "careless") fill(ctx, 2, arrays[0]);
  }
  std::int64_t reference_parts(const shape&, const parameters&) const override { return 1; }
  void reference(const specification& choice, const input_values& inputs, std::int64_t,
                 std::vector<reference_entry>& out) const override {
    for (std::int64_t i = 0; i < choice.shape.at("n"); ++i) {
      out.push_back({1, i, static_cast<long double>(inputs.at(0, i)), 0});
    }
  }
  double reference_part_cost(const shape&, const parameters&) const override { return 1; }
  std::string implementation_name(const specification& choice) const override {
    if (choice.implementation == "absent") throw unsupported_error("there is no such thing");
    return choice.implementation;
  }
  flop_counts count_kernel(const specification&) const override { return {}; }
  flop_counts count_closed_form(const specification&) const override { return {}; }
};

class prepared_cases : public testing::Test {
 protected:
  prepared_cases() : prepared_(ctx_, operation_, choice(), 1) {}

  static specification choice() {
    specification result;
    result.op = "copying";
    result.shape = {{"n", 100}};
    result.implementation = "careful";
    return result;
  }

  copying_case operation_;
  context<host> ctx_;
  prepared_case<host> prepared_;
};

TEST_F(prepared_cases, run_one_implementation_after_the_other_on_the_same_arrays) {
  EXPECT_TRUE(prepared_.verify(1e6).verified);
  prepared_.choose("careless", "strict");
  EXPECT_EQ(prepared_.choice().implementation, "careless");
  EXPECT_TRUE(prepared_.verify(1e6).verified);  // what it wrote to y is right
}

TEST_F(prepared_cases, find_what_an_earlier_call_did_to_an_input) {
  prepared_.choose("careless", "strict");
  (void)prepared_.verify(1e6);
  prepared_.choose("careful", "strict");
  const check_result found = prepared_.verify(1e6);
  EXPECT_FALSE(found.verified);
  EXPECT_THAT(found.message, testing::StartsWith("y[0] is 2, expected "));
}

TEST(operation_case, is_unsupported_where_no_implementation_has_a_name) {
  const copying_case operation;
  specification choice;
  choice.implementation = "careful";
  EXPECT_EQ(operation.why_unsupported(choice), "");
  choice.implementation = "absent";
  EXPECT_EQ(operation.why_unsupported(choice), "there is no such thing");
}

}  // namespace
}  // namespace prumo::cases
