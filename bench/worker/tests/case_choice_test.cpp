// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "case_choice.hpp"

#include <gtest/gtest.h>

namespace prumo::worker {
namespace {

using protocol::error_kind;

cases::case_info info() {
  cases::case_info result;
  result.op = "axpby";
  result.axes = {{"n", "elements", 0}};
  result.values = {{"alpha", "a factor", 2}, {"beta", "another", 0}};
  result.types = {dtype::f32, dtype::f64};
  result.layouts = {cases::array_layout::right};
  result.implementations = {"kernel", "vendor"};
  return result;
}

protocol::prepare_request request() {
  protocol::prepare_request result;
  result.op = "axpby";
  result.dtype = "f64";
  result.shape = {{"n", 10}};
  return result;
}

template <class Function>
void expect_refusal(error_kind kind, const std::string& said, const Function& function) {
  try {
    function();
    ADD_FAILURE() << "accepted: " << said;
  } catch (const protocol::request_error& refused) {
    EXPECT_EQ(refused.kind(), kind) << refused.what();
    EXPECT_NE(std::string(refused.what()).find(said), std::string::npos) << refused.what();
  }
}

TEST(choose, completes_with_defaults) {
  protocol::prepare_request wanted = request();
  wanted.parameters = {{"beta", 3}};
  wanted.seed = 9;
  cases::specification choice = choose(info(), wanted);
  complete(choice, info(), wanted);
  EXPECT_EQ(choice.type, dtype::f64);
  EXPECT_EQ(choice.values.at("alpha"), 2);
  EXPECT_EQ(choice.values.at("beta"), 3);
  EXPECT_EQ(choice.implementation, "kernel");
  EXPECT_EQ(choice.seed, 9u);
  EXPECT_EQ(given_shape(info(), wanted).at("n"), 10);
}

TEST(choose, defaults_may_depend_on_type_and_layout) {
  cases::case_info products = info();
  products.values[1].fallback_by_choice = [](dtype type, cases::array_layout) {
    return type == dtype::f64 ? 7.0 : 0.0;
  };
  protocol::prepare_request wanted = request();
  EXPECT_EQ(choose(products, wanted).values.at("beta"), 7);
  wanted.parameters = {{"beta", 3}};
  EXPECT_EQ(choose(products, wanted).values.at("beta"), 3);
  wanted = request();
  wanted.dtype = "f32";
  EXPECT_EQ(choose(products, wanted).values.at("beta"), 0);
}

TEST(choose, tells_what_does_not_exist_from_what_is_lacking) {
  protocol::prepare_request wanted = request();
  wanted.dtype = "f99";
  expect_refusal(error_kind::usage, "f32, f64, f16, bf16, f8_e4m3", [&] { choose(info(), wanted); });
  wanted.dtype = "f16";
  expect_refusal(error_kind::unsupported, "axpby has no type f16; it has: f32, f64", [&] { choose(info(), wanted); });
  wanted = request();
  wanted.layout = "strided";
  expect_refusal(error_kind::unsupported, "no layout strided", [&] { choose(info(), wanted); });
  wanted = request();
  wanted.parameters = {{"gamma", 1}};
  expect_refusal(error_kind::usage, "'gamma'; there are: alpha, beta", [&] { choose(info(), wanted); });
  wanted = request();
  wanted.shape = {{"rows", 1}};
  expect_refusal(error_kind::usage, "'rows'; there are: n", [&] { given_shape(info(), wanted); });
}

TEST(complete, refuses_unknown_implementations_and_modes) {
  protocol::prepare_request wanted = request();
  cases::specification choice = choose(info(), wanted);
  wanted.implementation = "magic";
  expect_refusal(error_kind::usage, "'magic'; there are: kernel, vendor", [&] { complete(choice, info(), wanted); });
  wanted.implementation = "vendor";
  complete(choice, info(), wanted);
  EXPECT_EQ(choice.implementation, "vendor");
  wanted.compute_mode = "fast_tf32";
  expect_refusal(error_kind::unsupported, "fast_tf32", [&] { complete(choice, info(), wanted); });
}

TEST(checked_footprint, refuses_before_it_overflows) {
  cases::specification choice;
  choice.op = "huge";
  const std::int64_t side = std::int64_t{1} << 40;
  expect_refusal(error_kind::memory, "huge f32",
                 [&] { checked_footprint({{"x", cases::array_role::input, {side, side}}}, choice); });
  EXPECT_EQ(checked_footprint({{"x", cases::array_role::input, {3, 5}}, {"y", cases::array_role::output, {}}}, choice),
            64);
}

TEST(largest_array_bytes, is_that_of_the_largest) {
  EXPECT_EQ(
      largest_array_bytes({{"x", cases::array_role::input, {3, 5}}, {"y", cases::array_role::output, {}}}, dtype::f64),
      120);
}

}  // namespace
}  // namespace prumo::worker
