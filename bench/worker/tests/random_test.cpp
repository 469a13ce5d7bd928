// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/random.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

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
    EXPECT_EQ(static_cast<double>(value), it.at("value").get<double>()) << it;
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
}

}  // namespace
}  // namespace prumo
