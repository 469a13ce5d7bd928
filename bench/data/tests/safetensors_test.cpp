// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "malformed.hpp"
#include "scratch_folder.hpp"
#include <prumo/data/checkpoint.hpp>
#include <prumo/data/safetensors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace prumo::data {
namespace {

using ::testing::HasSubstr;

std::string length_of(std::uint64_t length) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(length >> shift & 0xFFU);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data = {}) {
  return length_of(header.size()) + header + data;
}

tensor_file read(const std::string& bytes) { return read_tensors(byte_source::of_bytes(bytes, "weights")); }

TEST(safetensors, what_is_written_is_read) {
  const scratch_folder folder;
  tensor_file file;
  file.metadata = {{"net", "lenet5"}, {"made by", "a \"test\""}};
  file.tensors.push_back({"step", "U8", {3}, {1, 2, 3}});
  file.tensors.push_back(tensor_of("conv1.weight", {2, 1, 1, 2}, std::vector<float>{1, -2.5F, 0, 1e-30F}));
  file.tensors.push_back({"seed", "I64", {}, {1, 0, 0, 0, 0, 0, 0, 0}});
  file.tensors.push_back({"none", "F32", {0, 4}, {}});
  write_tensors(folder / "w.safetensors", file);
  const tensor_file back = read_tensors(folder / "w.safetensors");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), 4U);
  for (const tensor& it : file.tensors) {
    const tensor* found = back.find(it.name);
    ASSERT_NE(found, nullptr) << it.name;
    EXPECT_EQ(found->type, it.type);
    EXPECT_EQ(found->shape, it.shape);
    EXPECT_EQ(found->bytes, it.bytes);
  }
  EXPECT_EQ(back.find("absent"), nullptr);
}

TEST(safetensors, arrays_are_aligned_for_their_type) {
  const scratch_folder folder;
  write_tensors(folder / "w", {{}, {{"a", "U8", {3}, {1, 2, 3}}, {"b", "F64", {1}, std::vector<std::uint8_t>(8)}}});
  const std::string bytes = content_of_file(folder / "w");
  EXPECT_EQ(bytes.substr(0, 8), length_of(bytes.size() - 8 - 11));
  EXPECT_EQ((bytes.size() - 11) % 8, 0U);
  EXPECT_THAT(
      bytes,
      HasSubstr(
          R"({"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})"));
}

TEST(safetensors, a_wrong_array_is_not_written) {
  const scratch_folder folder;
  const auto write = [&](tensor one) { write_tensors(folder / "w", {{}, {std::move(one)}}); };
  EXPECT_THROW(write({"a", "F32", {2}, {1, 2, 3, 4}}), std::invalid_argument);
  EXPECT_THROW(write({"a", "F33", {1}, {1, 2, 3, 4}}), std::invalid_argument);
  EXPECT_THROW(write({"__metadata__", "U8", {1}, {1}}), std::invalid_argument);
  EXPECT_THROW(write_tensors(folder / "w", {{}, {{"a", "U8", {0}, {}}, {"a", "U8", {0}, {}}}}), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder / "w"));
}

/// A number of a 16-bit type does not change. A number between two of them becomes the nearer one. A number in the
/// middle becomes the one whose last bit is zero.
TEST(safetensors, numbers_are_rounded_to_the_nearest_of_a_type) {
  for (const char* type : {"F16", "BF16"}) {
    const unsigned infinity = std::string(type) == "F16" ? 0x7C00 : 0x7F80;
    std::vector<std::uint8_t> bytes;
    for (unsigned bits = 0; bits < infinity; ++bits) {
      bytes.push_back(static_cast<std::uint8_t>(bits));
      bytes.push_back(static_cast<std::uint8_t>(bits >> 8U));
    }
    const tensor all{"a", type, {static_cast<std::int64_t>(infinity)}, bytes};
    EXPECT_EQ(in_type(in_type(all, "F64"), type).bytes, bytes) << type;
    EXPECT_EQ(in_type(in_type(all, "F32"), type).bytes, bytes) << type;
    const std::vector<double> numbers = doubles_of(in_type(all, "F64"));
    std::vector<double> middles, above;
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      middles.push_back((numbers[i] + numbers[i + 1]) / 2);
      above.push_back(-std::nextafter(middles.back(), 1e300));
    }
    const auto places = [&](const std::vector<double>& values) {
      std::vector<unsigned> found;
      const tensor rounded = in_type(tensor_of_doubles("a", {static_cast<std::int64_t>(values.size())}, values), type);
      for (std::size_t i = 0; i < rounded.bytes.size(); i += 2) {
        found.push_back(rounded.bytes[i] + 256U * rounded.bytes[i + 1]);
      }
      return found;
    };
    const std::vector<unsigned> of_middles = places(middles), of_above = places(above);
    for (unsigned i = 0; i < of_middles.size(); ++i) {
      ASSERT_EQ(of_middles[i], i + i % 2) << type;
      ASSERT_EQ(of_above[i], (i + 1) | 0x8000U) << type;
    }
  }
  EXPECT_EQ(floats_of(in_type(tensor_of_doubles("a", {2}, std::vector<double>{0.1, -1e-50}), "F32")),
            (std::vector<float>{0.1F, -0.0F}));
}

TEST(safetensors, numbers_that_a_type_does_not_hold_are_refused) {
  const auto refusal = [](double value, const char* type) {
    try {
      (void)in_type(tensor_of_doubles("conv1.weight", {1}, std::vector<double>{value}), type);
    } catch (const std::invalid_argument& cause) {
      return std::string(cause.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(65519, "F16"), "");
  EXPECT_THAT(refusal(65520, "F16"), HasSubstr("array 'conv1.weight' holds 65520.000000, which is too large for F16"));
  EXPECT_THAT(refusal(-1e39, "F32"), HasSubstr("too large for F32"));
  EXPECT_THAT(refusal(std::nan(""), "BF16"), HasSubstr("not finite"));
  EXPECT_THAT(refusal(1, "I64"), HasSubstr("cannot be of type I64"));
}

TEST(safetensors, numbers_of_all_floating_types_are_read) {
  EXPECT_EQ(floats_of(tensor_of("a", {2}, std::vector<float>{0.1F, -3})), (std::vector<float>{0.1F, -3}));
  EXPECT_EQ(floats_of({"a", "F64", {1}, {0, 0, 0, 0, 0, 0, 0xF8, 0xBF}}), std::vector<float>{-1.5F});
  EXPECT_EQ(floats_of({"a", "BF16", {2}, {0xC0, 0x3F, 0x00, 0xC0}}), (std::vector<float>{1.5F, -2}));
  const std::vector<float> halves =
      floats_of({"a", "F16", {6}, {0x00, 0x3E, 0x01, 0x00, 0xFF, 0x7B, 0x00, 0xFC, 0x01, 0x7C, 0x00, 0x80}});
  EXPECT_EQ(halves[0], 1.5F);
  EXPECT_EQ(halves[1], std::ldexp(1.0F, -24));
  EXPECT_EQ(halves[2], 65504.0F);
  EXPECT_EQ(halves[3], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(halves[4]));
  EXPECT_TRUE(std::signbit(halves[5]));
  EXPECT_THROW((void)floats_of({"a", "I32", {1}, {0, 0, 0, 0}}), std::invalid_argument);
}

tensor_file weights_of(const nets::description& net) {
  tensor_file file;
  for (const nets::parameter& it : nets::facts_of(net).all_parameters()) {
    file.tensors.push_back(
        tensor_of(it.name, it.extents, std::vector<float>(static_cast<std::size_t>(it.size()), 0.5F)));
  }
  return file;
}

TEST(weights, are_those_of_the_net_in_its_order) {
  const nets::description net = nets::named_net("mnist-2f");
  tensor_file file = weights_of(net);
  std::ranges::reverse(file.tensors);
  file.tensors.push_back(tensor_of("optimizer.conv1.weight", {1}, std::vector<float>{1}));
  const net_weights weights = weights_for(net, file, "w");
  ASSERT_EQ(weights.size(), 6U);
  EXPECT_EQ(weights[0].size(), 150U);
  EXPECT_EQ(weights[5].size(), 10U);
}

std::string refusal_of(const nets::description& net, const tensor_file& file) {
  try {
    (void)weights_for(net, file, "w");
  } catch (const bench::file_error& error) {
    return error.what();
  }
  return "no file_error";
}

TEST(weights, of_another_net_are_refused) {
  const nets::description net = nets::named_net("lenet5");
  tensor_file file = weights_of(net);
  file.tensors[2] = tensor_of("conv2.weight", {16, 6, 5, 4}, std::vector<float>(1920));
  EXPECT_THAT(
      refusal_of(net, file),
      HasSubstr("w: array 'conv2.weight' has the shape [16, 6, 5, 4], and the net has [16, 6, 5, 5] there; name "
                "weights of the net lenet5"));
  file.tensors.erase(file.tensors.begin() + 2);
  EXPECT_THAT(refusal_of(net, file), HasSubstr("w: array 'conv2.weight' is missing; name"));
  EXPECT_THAT(refusal_of(net, weights_of(nets::named_net("mnist-2f"))),
              HasSubstr("w: array 'shared1.weight' is none of the net lenet5; name"));
}

TEST(weights, not_finite_or_of_another_type_are_refused) {
  const nets::description net = nets::named_net("mnist-2f");
  tensor_file file = weights_of(net);
  file.tensors[1] = tensor_of("conv1.bias", {6}, std::vector<float>{0, 0, 0, NAN, 0, 0});
  EXPECT_THAT(refusal_of(net, file), HasSubstr("w: array 'conv1.bias' holds NaN at place 3; name weights"));
  file.tensors[1] = tensor_of("conv1.bias", {6}, std::vector<float>{INFINITY, 0, 0, 0, 0, 0});
  EXPECT_THAT(refusal_of(net, file), HasSubstr("w: array 'conv1.bias' holds an infinite number at place 0; name"));
  file.tensors[1] = {"conv1.bias", "I32", {6}, std::vector<std::uint8_t>(24)};
  EXPECT_THAT(refusal_of(net, file), HasSubstr("w: array 'conv1.bias' is of type I32, and weights are F64"));
}

std::vector<malformed> malformed_safetensors_files() {
  const std::string remedy = "; fetch or copy the file again, or write it anew";
  const auto one = [](const std::string& entry, const std::string& data = "abcd") {
    return file_of(R"({"a":)" + entry + "}", data);
  };
  return {
      {"empty", "", {"byte 0: the file ends after 0 bytes, and a header's length takes 8", remedy}},
      {"seven_bytes", "1234567", {"byte 0: the file ends after 7 bytes", remedy}},
      {"length_zero", length_of(0), {"byte 0: the header's length is 0", "; is this a safetensors file?"}},
      {"length_beyond_the_file",
       length_of(1000) + "{}",
       {"byte 0: the header's length is 1000 and the file holds 2 bytes", "; is this"}},
      {"length_of_all_bits",
       length_of(~std::uint64_t{0}) + "{}",
       {"the header's length is 18446744073709551615", "; is this"}},
      {"a_zip_file", "PK\x03\x04zzzzzzzzzzzzzzzzzzzzzz", {"byte 0: the header's length is ", "; is this"}},
      {"no_object", file_of("[]"), {"byte 8: the header does not begin with {; is this a safetensors file?"}},
      {"no_json", file_of("{nonsense}"), {"is no valid JSON: parse error at line 1, column 3", "; mend it"}},
      {"deep",
       file_of(R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}"),
       {"is nested more than 64 levels deep"}},
      {"twice",
       file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}})"),
       {"names the key 'a' twice in one object; keep"}},
      {"type_twice", one(R"({"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]})"), {"the key 'dtype' twice"}},
      {"array_as_number", one("4"), {"array 'a' is 4, and an object is needed", remedy}},
      {"no_type", one(R"({"shape":[4],"data_offsets":[0,4]})"), {"array 'a' has no dtype", remedy}},
      {"unknown_type",
       one(R"({"dtype":"F128","shape":[4],"data_offsets":[0,4]})"),
       {"array 'a' has the unknown dtype 'F128'", remedy}},
      {"unknown_key",
       one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4],"code":"x"})"),
       {"array 'a' has the unknown key 'code'", remedy}},
      {"negative_extent",
       one(R"({"dtype":"U8","shape":[-4],"data_offsets":[0,4]})"),
       {"array 'a' has -4 in its shape", remedy}},
      {"fraction",
       one(R"({"dtype":"U8","shape":[4.5],"data_offsets":[0,4]})"),
       {"array 'a' has 4.5 in its shape", remedy}},
      {"overflow",
       one(R"({"dtype":"F64","shape":[1073741824,1073741824,16],"data_offsets":[0,0]})"),
       {"more than 1 TiB", remedy}},
      {"overflow_to_zero",
       one(R"({"dtype":"F64","shape":[4294967296,536870912],"data_offsets":[0,0]})"),
       {"more than 1 TiB", remedy}},
      {"too_many_extents",
       one(R"({"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4],"data_offsets":[0,4]})"),
       {"array 'a' has 33 extents, more than 32", remedy}},
      {"shape_beyond_its_bytes",
       one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"),
       {"array 'a' has the data_offsets [0,4], and F32 of shape [2] takes 8 bytes", remedy}},
      {"end_before_begin",
       one(R"({"dtype":"U8","shape":[4],"data_offsets":[4,0]})"),
       {"array 'a' has the data_offsets [4,0]", remedy}},
      {"one_offset",
       one(R"({"dtype":"U8","shape":[4],"data_offsets":[4]})"),
       {"array 'a' has 1 data_offsets instead of two", remedy}},
      {"huge_offset",
       one(R"({"dtype":"U8","shape":[4],"data_offsets":[18446744073709551612,18446744073709551615]})"),
       {"array 'a' has 18446744073709551612 in its data_offsets", remedy}},
      {"overlap",
       file_of(
           R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
           "abcdef"),
       {"array 'b' begins at 2, within another one that ends at 4", remedy}},
      {"gap",
       file_of(
           R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
           "abcdef"),
       {"array 'b' begins at 4, and the one before it ends at 2", remedy}},
      {"short",
       one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})", "ab"),
       {"the arrays take 4 bytes, and the file holds 2 after", remedy}},
      {"long",
       one(R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})", "abcdef"),
       {"the arrays take 4 bytes, and the file holds 6 after", remedy}},
      {"billions",
       one(R"({"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]})"),
       {"the arrays take 1099511627776 bytes, and the file holds 4 after", remedy}},
      {"metadata_of_numbers",
       file_of(R"({"__metadata__":{"step":7}})"),
       {"__metadata__/step is 7, and texts by name are needed", remedy}},
      {"metadata_as_list",
       file_of(R"({"__metadata__":["x"]})"),
       {"__metadata__ is [\"x\"], and texts by name are needed", remedy}},
  };
}

class malformed_safetensors : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_safetensors, are_refused_with_place_and_remedy) {
  expect_refusal(GetParam(), [](std::string_view bytes, const char* name) {
    (void)read_tensors(byte_source::of_bytes(bytes, name));
  });
}

INSTANTIATE_TEST_SUITE_P(safetensors, malformed_safetensors, ::testing::ValuesIn(malformed_safetensors_files()),
                         [](const auto& instance) { return instance.param.name; });

TEST(safetensors, an_empty_file_of_weights_is_one) { EXPECT_TRUE(read(file_of("{}")).tensors.empty()); }

}  // namespace
}  // namespace prumo::data
