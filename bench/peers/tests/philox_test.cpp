// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "philox.hpp"

#include "image_order.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace prumo::peers {
namespace {

nlohmann::json vectors() {
  std::ifstream stream(PRUMO_RANDOM_VECTORS);
  return nlohmann::json::parse(stream);
}

std::uint64_t hexadecimal(const nlohmann::json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

TEST(philox, blocks_of_the_test_vectors) {
  const nlohmann::json all = vectors().at("blocks");
  ASSERT_GE(all.size(), 3u);
  for (const nlohmann::json& it : all) {
    const philox_block block =
        philox4x32_10(hexadecimal(it.at("seed")), hexadecimal(it.at("stream")), hexadecimal(it.at("counter")));
    for (std::size_t word = 0; word < 4; ++word) EXPECT_EQ(block[word], hexadecimal(it.at("words").at(word))) << it;
  }
}

TEST(philox, values_of_the_test_vectors) {
  const nlohmann::json all = vectors().at("values");
  int compared = 0;
  for (const nlohmann::json& it : all) {
    const auto seed = it.at("seed").get<std::uint64_t>();
    const auto stream = it.at("stream").get<std::uint64_t>();
    const auto index = it.at("index").get<std::uint64_t>();
    if (it.at("dtype") == "f8_e4m3") continue;  // no such peer has it
    if (it.at("dtype") == "f32") {
      EXPECT_EQ(uniform<float>(seed, stream, index), it.at("value").get<float>()) << it;
    } else if (it.at("dtype") == "f64") {
      EXPECT_EQ(uniform<double>(seed, stream, index), it.at("value").get<double>()) << it;
    } else if (it.at("dtype") == "f16") {
      EXPECT_EQ(uniform<f16>(seed, stream, index), it.at("value").get<float>()) << it;
      EXPECT_EQ(widened(exactly<f16>(uniform<f16>(seed, stream, index))), it.at("value").get<float>()) << it;
    } else {
      EXPECT_EQ(uniform<bf16>(seed, stream, index), it.at("value").get<float>()) << it;
      EXPECT_EQ(widened(exactly<bf16>(uniform<bf16>(seed, stream, index))), it.at("value").get<float>()) << it;
    }
    ++compared;
  }
  EXPECT_GE(compared, 40);
}

TEST(image_order, images_of_the_test_vectors) {
  const nlohmann::json all = vectors().at("image_orders");
  ASSERT_GE(all.size(), 5u);
  for (const nlohmann::json& it : all) {
    const auto images = image_order(hexadecimal(it.at("seed")), it.at("epoch").get<std::uint64_t>(),
                                    it.at("count").get<std::int64_t>());
    for (std::size_t i = 0; i < it.at("images").size(); ++i) EXPECT_EQ(images[i], it.at("images").at(i)) << it;
  }
}

}  // namespace
}  // namespace prumo::peers
