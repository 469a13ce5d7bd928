// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/image_order.hpp>
#include <prumo/philox.hpp>
#include <prumo/random_numbers.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

namespace prumo {
namespace {

nlohmann::json vectors() {
  std::ifstream stream(PRUMO_RANDOM_VECTORS);
  return nlohmann::json::parse(stream);
}

std::uint64_t hexadecimal(const nlohmann::json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

TEST(random, blocks_of_the_test_vectors) {
  const nlohmann::json all = vectors().at("blocks");
  ASSERT_GE(all.size(), 3u);
  for (const nlohmann::json& it : all) {
    const random::philox_block block =
        random::philox4x32_10(hexadecimal(it.at("seed")), hexadecimal(it.at("stream")), hexadecimal(it.at("counter")));
    for (std::size_t word = 0; word < 4; ++word) {
      EXPECT_EQ(block.words[word], hexadecimal(it.at("words").at(word))) << it;
    }
  }
}

template <class T>
int compare_values(const nlohmann::json& all) {
  int compared = 0;
  for (const nlohmann::json& it : all) {
    if (it.at("dtype") != scalar_traits<T>::name) continue;
    const T value = random::uniform<T>(it.at("seed").get<std::uint64_t>(), it.at("stream").get<std::uint64_t>(),
                                       it.at("index").get<std::uint64_t>());
    EXPECT_EQ(static_cast<double>(static_cast<compute_t<T>>(value)), it.at("value").get<double>()) << it;
    ++compared;
  }
  return compared;
}

TEST(random, values_of_the_test_vectors) {
  const nlohmann::json all = vectors().at("values");
  EXPECT_GE(compare_values<float>(all), 8);
  EXPECT_GE(compare_values<double>(all), 8);
  EXPECT_GE(compare_values<f16>(all), 8);
  EXPECT_GE(compare_values<bf16>(all), 8);
  EXPECT_GE(compare_values<f8_e4m3>(all), 8);
}

TEST(random, orders_of_images_of_the_test_vectors) {
  const nlohmann::json all = vectors().at("image_orders");
  ASSERT_GE(all.size(), 5u);
  for (const nlohmann::json& it : all) {
    const auto count = it.at("count").get<std::int64_t>();
    std::int64_t index = 0;
    for (const nlohmann::json& image : it.at("images")) {
      EXPECT_EQ(nets::image_of(hexadecimal(it.at("seed")), it.at("epoch").get<std::uint64_t>(), index++, count), image)
          << it;
    }
    EXPECT_EQ(index, std::min<std::int64_t>(8, count));
  }
}

/// The numbers that an operation fills an array with, of a vector's length.
template <class T, class Fill>
std::vector<double> filled(const nlohmann::json& it, const Fill& fill) {
  using exec = Kokkos::DefaultHostExecutionSpace;
  context<exec> ctx;
  const Kokkos::View<T*, Kokkos::HostSpace> y("y", it.at("values").size());
  fill(ctx, random_position{it.at("seed"), it.at("stream"), it.at("offset")}, y);
  ctx.fence();
  std::vector<double> values;
  for (std::size_t index = 0; index < y.extent(0); ++index) values.push_back(static_cast<double>(y(index)));
  return values;
}

template <class T>
void compare_uniform_numbers(const nlohmann::json& it) {
  using C = compute_t<T>;
  const auto values = filled<T>(it, [&](auto& ctx, const random_position& position, const auto& y) {
    (void)random_uniform(ctx, position, static_cast<C>(it.at("low").get<double>()),
                         static_cast<C>(it.at("high").get<double>()), y);
  });
  EXPECT_EQ(values, it.at("values").get<std::vector<double>>()) << it;
}

/// Within 5 units in the last place, or a rounding to the type: the bound of random_cases.cpp where the mean is 0.
template <class T>
void compare_normal_numbers(const nlohmann::json& it) {
  using C = compute_t<T>;
  const auto values = filled<T>(it, [&](auto& ctx, const random_position& position, const auto& y) {
    (void)random_normal(ctx, position, static_cast<C>(it.at("mean").get<double>()),
                        static_cast<C>(it.at("deviation").get<double>()), y);
  });
  const double relative = 10 * unit_roundoff<C>() + (sizeof(T) == 2 ? unit_roundoff<T>() : 0);
  for (std::size_t index = 0; index < values.size(); ++index) {
    const double expected = it.at("values").at(index).get<double>();
    EXPECT_NEAR(values[index], expected, relative * std::fabs(expected)) << it;
  }
}

TEST(random, operations_give_the_numbers_of_the_test_vectors) {
  const nlohmann::json all = vectors();
  ASSERT_GE(all.at("uniform_numbers").size(), 16u);
  ASSERT_GE(all.at("normal_numbers").size(), 12u);
  for (const nlohmann::json& it : all.at("uniform_numbers")) {
    if (it.at("dtype") == "f32") compare_uniform_numbers<float>(it);
    if (it.at("dtype") == "f64") compare_uniform_numbers<double>(it);
    if (it.at("dtype") == "f16") compare_uniform_numbers<f16>(it);
    if (it.at("dtype") == "bf16") compare_uniform_numbers<bf16>(it);
  }
  for (const nlohmann::json& it : all.at("normal_numbers")) {
    if (it.at("dtype") == "f32") compare_normal_numbers<float>(it);
    if (it.at("dtype") == "f64") compare_normal_numbers<double>(it);
    if (it.at("dtype") == "f16") compare_normal_numbers<f16>(it);
    if (it.at("dtype") == "bf16") compare_normal_numbers<bf16>(it);
  }
}

}  // namespace
}  // namespace prumo
