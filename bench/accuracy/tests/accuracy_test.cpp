// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tool that judges, judged: errors that are known, planted ones, and the functions themselves over small ranges.

#include "options.hpp"
#include "report.hpp"
#include "sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace prumo::accuracy {
namespace {

using exec = Kokkos::DefaultExecutionSpace;
constexpr auto silent = [](double) {};

template <class T>
tally judged(function which, T x, T y) {
  tally found;
  using W = std::conditional_t<std::is_same_v<T, double>, long double, double>;
  judge<T, W>(which, x, y, found);
  return found;
}

TEST(judgement, measures_in_units_of_the_last_place) {
  const float right = std::sqrt(2.0f);
  EXPECT_EQ(judged(function::sqrt, 2.0f, right).correct, 1u);
  EXPECT_LE(judged(function::sqrt, 2.0f, right).ulps, 0.5);
  const float next = std::nextafter(right, 2.0f);
  const tally off = judged(function::sqrt, 2.0f, next);
  EXPECT_EQ(off.correct, 0u);
  EXPECT_EQ(off.wrong, 0u);
  EXPECT_NEAR(off.ulps, (static_cast<double>(next) - std::sqrt(2.0)) * 0x1p23, 1e-9);
  EXPECT_EQ(off.ulps_at, to_bits(2.0f));
  EXPECT_DOUBLE_EQ(judged(function::sqrt, 4.0f, 2.0f + 0x1p-20f).ulps, 4.0);
}

TEST(judgement, knows_subnormal_results_and_16_bits) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  // sqrt(smallest normal of f16) is no subnormal; exp(-17) = 4.14e-8 is 0.69 units of f16's smallest.
  EXPECT_NEAR(judged(function::exp, f16(-17.0f), f16(0.0f)).ulps, std::exp(-17.0) * 0x1p24, 1e-9);
  EXPECT_EQ(judged(function::exp, f16(-17.0f), f16(0x1p-24f)).correct, 1u);
  EXPECT_NEAR(judged(function::exp, -103.0f, 2 * tiny).ulps, 2 - std::exp(-103.0) * 0x1p149, 1e-9);
  EXPECT_EQ(judged(function::relu, bf16(3.0f), bf16(3.0f)).ulps, 0.0);
}

TEST(judgement, measures_gelu_by_its_argument) {
  const double exact = -2.0 * 0.5 * std::erfc(std::sqrt(2.0));
  const auto result = static_cast<float>(exact + 3 * 2.0 * 0x1p-23);
  EXPECT_NEAR(judged(function::gelu, -2.0f, result).epsilons, 3, 0.05);
}

TEST(judgement, finds_wrong_nans_infinities_and_signs) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(judged(function::log, -1.0f, nan).wrong, 0u);
  EXPECT_EQ(judged(function::log, -1.0f, -infinity).wrong, 1u);
  EXPECT_EQ(judged(function::log, 1.0f, nan).wrong, 1u);
  EXPECT_EQ(judged(function::log, 0.0f, -infinity).wrong, 0u);
  EXPECT_EQ(judged(function::log, 0.0f, -100.0f).wrong, 1u);
  EXPECT_EQ(judged(function::sqrt, -0.0f, -0.0f).wrong, 0u);
  EXPECT_EQ(judged(function::sqrt, -0.0f, 0.0f).wrong, 1u);
  EXPECT_EQ(judged(function::relu, -0.0f, 0.0f).wrong, 0u);
  EXPECT_EQ(judged(function::relu, -0.0f, -0.0f).wrong, 1u);
  EXPECT_EQ(judged(function::gelu, -infinity, -0.0f).wrong, 0u);
  EXPECT_EQ(judged(function::gelu, -infinity, nan).wrong, 1u);
  EXPECT_EQ(judged(function::gelu, -1e30f, 0.0f).wrong, 1u);
  EXPECT_EQ(judged(function::rsqrt, -0.0f, -infinity).wrong, 0u);
}

TEST(judgement, overflow_is_one_step_beyond_the_largest_number) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  const tally right = judged(function::exp, 100.0f, infinity);
  EXPECT_EQ(right.correct, 1u);
  EXPECT_EQ(right.ulps, 0.0);
  EXPECT_NEAR(judged(function::exp, 100.0f, largest).ulps, 1, 1e-6);
  const tally early = judged(function::exp, 88.0f, infinity);
  EXPECT_EQ(early.wrong, 0u);
  EXPECT_GT(early.ulps, 1e6);
}

TEST(tally, joins_in_any_order) {
  tally a, b;
  a.arguments = 2, a.ulps = 1, a.ulps_at = 7, a.wrong = 1, a.wrong_at = 9;
  b.arguments = 3, b.ulps = 1, b.ulps_at = 5, b.epsilons = 2, b.epsilons_at = 1;
  tally ab = a, ba = b;
  ab.join(b);
  ba.join(a);
  for (const tally& both : {ab, ba}) {
    EXPECT_EQ(both.arguments, 5u);
    EXPECT_EQ(both.ulps_at, 5u);
    EXPECT_EQ(both.epsilons_at, 1u);
    EXPECT_EQ(both.wrong, 1u);
    EXPECT_EQ(both.wrong_at, 9u);
  }
}

/// prumo's promises, over every thousandth float and what else there is.
class promises_of : public testing::TestWithParam<function> {};

TEST_P(promises_of, are_kept) {
  sweeper<exec> device{exec()};
  const function which = GetParam();
  const auto expect_kept = [&](dtype type, const tally& found) {
    finding it;
    it.which = which;
    it.type = type;
    it.on_host = is_host_space<exec>;
    it.found = found;
    EXPECT_TRUE(it.is_kept()) << table_line(it);
  };
  const tally floats = device.all_arguments<float>(which, 10007, silent);
  EXPECT_EQ(floats.arguments, (std::uint64_t{1} << 32) / 10007 + 1);
  expect_kept(dtype::f32, floats);
  const tally halves = device.all_arguments<f16>(which, 1, silent);
  EXPECT_EQ(halves.arguments, 65536u);
  expect_kept(dtype::f16, halves);
  expect_kept(dtype::bf16, device.all_arguments<bf16>(which, 1, silent));
  if (has_wider_than_double) expect_kept(dtype::f64, device.sampled_doubles(which, 20000, 1, silent));
}

INSTANTIATE_TEST_SUITE_P(accuracy, promises_of, testing::ValuesIn(all_functions),
                         [](const auto& each) { return std::string(function_name(each.param)); });

/// A function taken for another: the sweep sees it.
TEST(sweep, finds_what_is_wrong) {
  std::vector<float> x(1000), y(1000);
  tally found;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.01f * static_cast<float>(i) + 0.005f;
    y[i] = std::tanh(x[i]);
    if (i == 617) y[i] = std::nextafter(std::nextafter(std::nextafter(std::nextafter(y[i], 0.0f), 0.0f), 0.0f), 0.0f);
    judge<float, double>(function::tanh, x[i], y[i], found);
  }
  EXPECT_EQ(found.arguments, 1000u);
  EXPECT_GT(found.ulps, 3.0);
  EXPECT_EQ(found.ulps_at, to_bits(x[617]));
}

TEST(hard_arguments, are_the_same_in_parts_and_reach_what_they_should) {
  for (int kind = 0; kind < argument_kinds; ++kind) {
    const std::vector<double> whole = hard_arguments(function::exp, kind, 5, 0, 100);
    const std::vector<double> part = hard_arguments(function::exp, kind, 5, 40, 60);
    for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(to_bits(part[i]), to_bits(whole[40 + i]));
  }
  bool close_to_one = false;
  for (const double x : hard_arguments(function::log, 2, 1, 0, 1000)) {
    close_to_one = close_to_one || (x != 1 && std::fabs(x - 1) < 1e-13);
  }
  EXPECT_TRUE(close_to_one);
}

TEST(options, are_read) {
  const options chosen =
      parse_options({"--function=gelu,exp,gelu", "--dtype", "bf16", "--stride", "3", "-o", "file.json", "--seed=9"});
  EXPECT_EQ(chosen.functions, (std::vector{function::gelu, function::exp}));
  EXPECT_EQ(chosen.types, std::vector{dtype::bf16});
  EXPECT_EQ(chosen.stride, 3u);
  EXPECT_EQ(chosen.seed, 9u);
  EXPECT_EQ(chosen.output, "file.json");
}

std::string refusal_of(const std::vector<std::string>& arguments) {
  try {
    parse_options(arguments);
  } catch (const usage_error& refusal) {
    return refusal.what();
  }
  return "none";
}

TEST(options, that_do_not_exist_are_refused) {
  EXPECT_EQ(refusal_of({"--what"}), "there is no option '--what'");
  EXPECT_EQ(refusal_of({"--function"}), "--function: a value is missing");
  EXPECT_EQ(refusal_of({"--list=no"}), "--list: it takes no value");
  EXPECT_THAT(refusal_of({"--function", "exp,cosh"}),
              testing::StartsWith("--function: there is no 'cosh'; there are: exp, log"));
  EXPECT_THAT(refusal_of({"--stride", "0"}),
              testing::HasSubstr("expected a whole number from 1 to 4294967296, got '0'"));
}

TEST(report, tells_of_what_is_not_kept) {
  finding it;
  it.which = function::exp;
  it.found.arguments = 10;
  it.found.correct = 9;
  it.found.ulps = 17;
  it.found.ulps_at = to_bits(2.5f);
  EXPECT_FALSE(it.is_kept());
  EXPECT_THAT(table_line(it), testing::HasSubstr("| 17.0000 ulp | 2.5 | 1 ulp | 17 | 90.000 | 0 | 0 | NOT KEPT"));
  const protocol::json written = document("openmp", {it});
  EXPECT_EQ(written["results"][0]["largest_ulps_at"], "0x1.4p+1");
  EXPECT_EQ(written["results"][0]["kept"], false);
  EXPECT_EQ(written["results"][0]["correctly_rounded"], 0.9);
}

TEST(report, special_arguments_are_those_of_the_type) {
  const std::vector<double> values = special_arguments(dtype::f16);
  EXPECT_TRUE(std::isnan(values.front()));
  EXPECT_THAT(std::vector<double>(values.begin() + 1, values.end()),
              testing::ElementsAre(INFINITY, -INFINITY, 0, -0.0, 0x1p-24, -0x1p-24, 0x1p-14, -0x1p-14, 65504, -65504));
  EXPECT_EQ(special_arguments(dtype::f32)[9], std::numeric_limits<float>::max());
}

}  // namespace
}  // namespace prumo::accuracy
