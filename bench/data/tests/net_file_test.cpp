// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "malformed.hpp"
#include "scratch_folder.hpp"
#include <prumo/data/net_file.hpp>

namespace prumo::data {
namespace {

using namespace nets;

TEST(net_file, each_known_net_is_read_as_it_was_written) {
  for (const std::string_view name : known_nets()) {
    const net known = read_net(std::string(name));
    const net read = parse_net(net_text(known.description), "net.json");
    EXPECT_EQ(read.description, known.description) << net_text(known.description);
    EXPECT_EQ(read.facts.all_parameters(), known.facts.all_parameters());
  }
}

TEST(net_file, everything_that_a_layer_can_have_is_kept) {
  const description all{"a net of \"mine\"",
                        {3, 301, 196},
                        {convolution{17, {3, 5}, {4, 2}, {1, 2}, false, activation::tanh},
                         pooling{pooling_kind::average, {2, 3}, {1, 2}, {1, 0}, rounding::up},
                         shared_convolution{{4, 4}, {2, 2}, {0, 1}, false, activation::sigmoid},
                         pooling{pooling_kind::maximum, {2, 2}, {2, 2}, {0, 0}, rounding::down},
                         dense{17, false, activation::relu}, softmax{}}};
  EXPECT_EQ(parse_net(net_text(all), "net.json").description, all) << net_text(all);
}

TEST(net_file, defaults_are_those_of_the_documentation) {
  const net read =
      parse_net(R"({"schema": "prumo.net/1", "name": "n", "input": {"channels": 1, "height": 9, "width": 9},
                                 "layers": [{"type": "convolution", "channels": 2, "filter": 3},
                                            {"type": "max_pool", "window": 3}, {"type": "dense", "features": 4}]})",
                "net.json");
  const description expected{"n",
                             {1, 9, 9},
                             {convolution{2, {3, 3}, {1, 1}, {0, 0}, true, activation::none},
                              pooling{pooling_kind::maximum, {3, 3}, {3, 3}, {0, 0}, rounding::down}, dense{4}}};
  EXPECT_EQ(read.description, expected);
  EXPECT_EQ(read.facts.classes, 4);
}

TEST(net_file, is_found_by_its_path) {
  const scratch_folder folder;
  const std::string path = folder.put("mine.json", net_text(named_net("lenet5")));
  EXPECT_EQ(read_net(path).facts.parameters, 61706);
  EXPECT_THROW((void)read_net(folder / "absent.json"), bench::file_error);
}

std::string with_layers(const std::string& layers) {
  return R"({"schema": "prumo.net/1", "name": "n", "input": {"channels": 1, "height": 8, "width": 8}, "layers": )" +
         layers + "}";
}

std::vector<malformed> malformed_nets() {
  const std::string input = R"("input": {"channels": 1, "height": 8, "width": 8})";
  return {
      {"empty", "", {"is no valid JSON: parse error at line 1, column 1", "; mend it there"}},
      {"cut", R"({"schema": "prumo.net/1", "na)", {"is no valid JSON: parse error at line 1, column 30"}},
      {"deep", std::string(100, '[') + std::string(100, ']'), {"is nested more than 64 levels deep; make it flat"}},
      {"twice", R"({"schema": "prumo.net/1", "name": "a", "name": "b"})", {"names the key 'name' twice"}},
      {"twice_in_a_layer",
       with_layers(R"([{"type": "dense", "features": 1, "features": 2}])"),
       {"the key 'features' twice"}},
      {"list", "[]", {"the net is [], and an object is needed; write {...}"}},
      {"no_schema", "{}", {"the net has no schema; add \"schema\": \"prumo.net/1\""}},
      {"other_schema",
       R"({"schema": "prumo.net/2"})",
       {"/schema: is 'prumo.net/2', and this prumo reads prumo.net/1; write"}},
      {"no_name", R"({"schema": "prumo.net/1", )" + input + "}", {"the net has no name; add it"}},
      {"unknown_key",
       R"({"schema": "prumo.net/1", "nam": "n"})",
       {"/nam: is unknown here; known are schema, name, input"}},
      {"no_width",
       R"({"schema": "prumo.net/1", "name": "n", "input": {"channels": 1, "height": 8}, "layers": []})",
       {"/input: has no width; add it"}},
      {"no_layers", with_layers("[]"), {"/layers: the net has no layers; add one"}},
      {"layers_by_name", with_layers(R"({"a": 1})"), {"/layers: is {\"a\":1}, and a list is needed; write [...]"}},
      {"layer_as_text", with_layers(R"(["dense"])"), {"/layers/0: is \"dense\", and an object is needed; write"}},
      {"unknown_type", with_layers(R"([{"type": "conv"}])"), {"/layers/0/type: is 'conv'; known are convolution, "}},
      {"no_filter", with_layers(R"([{"type": "convolution", "channels": 1}])"), {"/layers/0: has no filter; add it"}},
      {"unknown_option",
       with_layers(R"([{"type": "dense", "features": 1, "stride": 1}])"),
       {"/layers/0/stride: is unknown here; known"}},
      {"fraction",
       with_layers(R"([{"type": "dense", "features": 1.5}])"),
       {"/layers/0/features: is 1.5, and a whole number"}},
      {"huge",
       with_layers(R"([{"type": "dense", "features": 18446744073709551615}])"),
       {"/layers/0/features: is 18446744073709551615; name"}},
      {"beyond_integers",
       with_layers(R"([{"type": "dense", "features": 1e30}])"),
       {"/layers/0/features: is 1e+30, and a whole"}},
      {"negative",
       with_layers(R"([{"type": "max_pool", "window": -2}])"),
       {"/layers/0/window: is -2; name a number from 1"}},
      {"three_extents",
       with_layers(R"([{"type": "max_pool", "window": [2, 2, 2]}])"),
       {"/layers/0/window: has 3 numbers; name"}},
      {"bias_as_number",
       with_layers(R"([{"type": "dense", "features": 1, "bias": 1}])"),
       {"/layers/0/bias: is 1; write true"}},
      {"unknown_activation",
       with_layers(R"([{"type": "dense", "features": 1, "activation": "gelu"}])"),
       {"/layers/0/activation: is 'gelu'; known are none, relu, sigmoid, tanh"}},
      {"filter_too_large",
       with_layers(R"([{"type": "max_pool", "window": 2}, {"type": "convolution", "channels": 1, "filter": 5}])"),
       {"/layers/1/filter: is 5 x 5, larger than its input of 4 x 4 with padding 0 x 0; take a smaller one"}},
      {"wrong_order",
       with_layers(R"([{"type": "dense", "features": 3}, {"type": "max_pool", "window": 1}])"),
       {"/layers/1: pooling needs images", "; put it before"}},
  };
}

class malformed_net : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_net, is_refused_with_place_and_remedy) {
  expect_refusal(GetParam(), [](std::string_view bytes, const char* name) { (void)parse_net(bytes, name); });
}

INSTANTIATE_TEST_SUITE_P(net_file, malformed_net, ::testing::ValuesIn(malformed_nets()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace prumo::data
