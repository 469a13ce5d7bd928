// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/nets/shapes.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace prumo::nets {
namespace {

std::vector<image_shape> outputs(const net_facts& facts) {
  std::vector<image_shape> shapes;
  for (const layer_facts& it : facts.layers) shapes.push_back(it.output);
  return shapes;
}

// The tables of the sources: output sizes, flops of an image, weights.

TEST(named_nets, ece408_2019) {
  const net_facts facts = facts_of(named_net("ece408-2019"));
  const std::vector<image_shape> expected{{6, 44, 44}, {6, 22, 22}, {16, 18, 18}, {16, 9, 9},
                                          {128, 1, 1}, {10, 1, 1},  {10, 1, 1}};
  EXPECT_EQ(outputs(facts), expected);
  EXPECT_EQ(facts.layers[0].flops, 580800);
  EXPECT_EQ(facts.layers[2].flops, 1555200);
  EXPECT_EQ(facts.layers[4].flops, 331776);
  EXPECT_EQ(facts.layers[5].flops, 2560);
  EXPECT_EQ(facts.flops, facts.flops_inside);
  EXPECT_EQ(facts.classes, 10);
}

TEST(named_nets, ece408_2020_pools_beyond_the_edge) {
  const net_facts facts = facts_of(named_net("ece408-2020"));
  const std::vector<image_shape> expected{{4, 80, 80}, {4, 40, 40}, {16, 34, 34}, {16, 9, 9},
                                          {32, 1, 1},  {10, 1, 1},  {10, 1, 1}};
  EXPECT_EQ(outputs(facts), expected);
  EXPECT_EQ(facts.layers[0].flops, 2508800);
  EXPECT_EQ(facts.layers[2].flops, 7250432);
  EXPECT_EQ(facts.layers[4].flops, 82944);
  EXPECT_EQ(facts.layers[5].flops, 640);
}

TEST(named_nets, mnist_2f_has_2343_weights) {
  const net_facts facts = facts_of(named_net("mnist-2f"));
  const std::vector<image_shape> expected{{6, 24, 24}, {6, 6, 6}, {10, 1, 1}};
  EXPECT_EQ(outputs(facts), expected);
  EXPECT_EQ(facts.flops, 184032);
  EXPECT_EQ(facts.parameters, 2343);
}

TEST(named_nets, lenet5_has_61706_weights) {
  const net_facts facts = facts_of(named_net("lenet5"));
  EXPECT_EQ(facts.parameters, 61706);
  EXPECT_EQ(facts.flops, 833040);
  EXPECT_EQ(facts.flops_inside, 833040 - 2 * 6 * (140 * 140 - 134 * 134));
  const std::vector<parameter> expected{
      {"conv1.weight", {6, 1, 5, 5}}, {"conv1.bias", {6}},    {"conv2.weight", {16, 6, 5, 5}}, {"conv2.bias", {16}},
      {"dense1.weight", {120, 400}},  {"dense1.bias", {120}}, {"dense2.weight", {84, 120}},    {"dense2.bias", {84}},
      {"dense3.weight", {10, 84}},    {"dense3.bias", {10}}};
  EXPECT_EQ(facts.all_parameters(), expected);
}

TEST(named_nets, another_name_is_refused) {
  EXPECT_EQ(known_nets().size(), 4U);
  for (const std::string_view name : known_nets()) EXPECT_EQ(named_net(name).name, name);
  EXPECT_THROW((void)named_net("lenet"), std::out_of_range);
}

TEST(shapes, taps_inside_are_those_that_a_loop_visits) {
  for (const std::int64_t extent : {1, 2, 5, 8, 13}) {
    for (const std::int64_t window : {1, 2, 3, 5, 7}) {
      for (const std::int64_t stride : {1, 2, 3, 4, 9}) {
        for (std::int64_t padding = 0; padding < window; ++padding) {
          if (extent + 2 * padding < window) continue;
          std::int64_t taps = 0;
          for (std::int64_t begin = -padding; begin + window <= extent + padding; begin += stride) {
            for (std::int64_t tap = begin; tap < begin + window; ++tap) taps += tap >= 0 && tap < extent ? 1 : 0;
          }
          description net{"t",
                          {1, extent, 1},
                          {convolution{.filter = {window, 1}, .stride = {stride, 1}, .padding = {padding, 0}}}};
          EXPECT_EQ(facts_of(net).flops_inside, 2 * taps) << extent << " " << window << " " << stride << " " << padding;
        }
      }
    }
  }
}

TEST(shapes, the_last_window_begins_inside_of_the_image) {
  const auto rows = [](std::int64_t extent, std::int64_t window, std::int64_t stride, std::int64_t padding) {
    const pooling pool{.window = {window, 1}, .stride = {stride, 1}, .padding = {padding, 0}, .round = rounding::up};
    return facts_of({"t", {1, extent, 1}, {pool}}).layers[0].output.height;
  };
  EXPECT_EQ(rows(34, 4, 4, 0), 9);
  EXPECT_EQ(rows(36, 4, 4, 0), 9);
  EXPECT_EQ(rows(5, 2, 3, 0), 2);
  EXPECT_EQ(rows(4, 2, 3, 1), 2);
  EXPECT_EQ(rows(3, 2, 4, 1), 1);  // a second window would begin with the padding behind the image
}

struct misfit {
  const char* name;
  description net;
  std::optional<std::size_t> layer;
  const char* field;
  const char* message;
};

TEST(shapes, what_does_not_fit_is_refused_where_it_stands) {
  const image_shape image{1, 8, 8};
  const std::vector<misfit> misfits{
      {"no layers", {"t", image, {}}, std::nullopt, "layers", "the net has no layers; add one"},
      {"no rows", {"t", {1, 0, 8}, {softmax{}}}, std::nullopt, "input/height", "is 0; images have 1 to 1048576"},
      {"no channels", {"t", image, {convolution{.channels = 0}}}, 0, "channels", "is 0; name a number from 1"},
      {"large filter",
       {"t", image, {convolution{.filter = {9, 3}}}},
       0,
       "filter",
       "is 9 x 3, larger than its input of 8 x 8"},
      {"no stride", {"t", image, {pooling{.stride = {0, 1}}}}, 0, "stride", "is 0; name a number from 1"},
      {"wide padding",
       {"t", image, {pooling{.window = {2, 2}, .padding = {2, 0}}}},
       0,
       "padding",
       "so some hold nothing else"},
      {"negative padding", {"t", image, {pooling{.padding = {-1, 0}}}}, 0, "padding", "is -1; name a number from 0"},
      {"convolution behind dense", {"t", image, {dense{5}, convolution{}}}, 1, "", "a convolution needs images"},
      {"pooling behind dense", {"t", image, {dense{5}, pooling{}}}, 1, "", "pooling needs images"},
      {"no features", {"t", image, {dense{0}}}, 0, "features", "is 0; name a number"},
      {"softmax of images", {"t", image, {softmax{}}}, 0, "", "softmax needs classes"},
      {"softmax in front", {"t", image, {dense{5}, softmax{}, dense{5}}}, 1, "", "softmax is not the last layer"},
      {"too much work", {"t", {1 << 20, 1 << 10, 1 << 10}, {convolution{.channels = 1 << 20}}}, 0, "", "beyond 2^50"},
      {"too many layers", {"t", image, std::vector<layer>(1001, pooling{})}, std::nullopt, "layers", "1001 layers"},
  };
  for (const misfit& it : misfits) {
    try {
      (void)facts_of(it.net);
      ADD_FAILURE() << it.name;
    } catch (const description_error& error) {
      EXPECT_EQ(error.layer(), it.layer) << it.name;
      EXPECT_EQ(error.field(), it.field) << it.name;
      EXPECT_NE(error.message().find(it.message), std::string::npos) << it.name << ": " << error.message();
    }
  }
}

TEST(shapes, an_error_says_where_it_is) {
  const auto text_of = [](const description& net) -> std::string {
    try {
      (void)facts_of(net);
      return "no error";
    } catch (const std::exception& error) {
      return error.what();
    }
  };
  EXPECT_EQ(
      text_of({"t",
               {1, 4, 4},
               {pooling{.window = {2, 2}, .stride = {2, 2}}, convolution{.channels = 2, .filter = {5, 5}}}}),
      "prumo::nets: layers[1].filter: is 5 x 5, larger than its input of 2 x 2 with padding 0 x 0; take a smaller "
      "one, or images of another size");
  EXPECT_EQ(text_of({"t", {1, 4, 4}, {dense{5}, softmax{}, dense{5}}}),
            "prumo::nets: layers[1]: softmax is not the last layer; put it at the end or leave it out");
  EXPECT_EQ(text_of({"t", {1, 0, 4}, {dense{5}}}), "prumo::nets: input.height: is 0; images have 1 to 1048576 of each");
  EXPECT_EQ(text_of({"t", {1, 4, 4}, {}}), "prumo::nets: layers: the net has no layers; add one");
}

}  // namespace
}  // namespace prumo::nets
