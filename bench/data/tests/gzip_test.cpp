// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../deflate.hpp"
#include "malformed.hpp"
#include <prumo/data/idx.hpp>

#include <array>

namespace prumo::data {
namespace {

std::span<const std::uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string zipped(std::string_view text) { return compress_gzip(std::array{as_bytes(text)}); }

std::string with_byte(std::string bytes, std::size_t place, char value) {
  bytes.at(place) = value;
  return bytes;
}

/// The labels 0 to 9 a thousand times.
std::string ten_thousand_labels() {
  std::string bytes = big_endian({2049, 10000});
  for (int i = 0; i < 10000; ++i) bytes += static_cast<char>(i * 7 % 10);
  return bytes;
}

TEST(gzip, members_follow_each_other) {
  const std::string bytes = ten_thousand_labels();
  const std::string parts = zipped(bytes.substr(0, 5)) + zipped(bytes.substr(5, 3000)) + zipped(bytes.substr(3005));
  byte_source source = byte_source::of_bytes(parts, "labels");
  EXPECT_TRUE(source.is_gzip());
  EXPECT_EQ(read_labels(std::move(source)).classes.size(), 10000U);
}

TEST(gzip, equal_bytes_make_equal_files) { EXPECT_EQ(zipped(ten_thousand_labels()), zipped(ten_thousand_labels())); }

TEST(gzip, no_more_is_inflated_than_the_header_promises) {
  // A thousand times a megabyte of zeros in a megabyte: a reader that inflates first needs a gigabyte.
  std::string bomb = zipped(big_endian({2049, 16}) + std::string(std::size_t{1} << 20U, '\0'));
  const std::string megabyte = zipped(std::string(std::size_t{1} << 20U, '\0'));
  for (int i = 0; i < 1000; ++i) bomb += megabyte;
  byte_source source = byte_source::of_bytes(bomb, "bomb");
  try {
    (void)read_labels(std::move(source));
    ADD_FAILURE() << "the bomb was read";
  } catch (const bench::file_error& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("byte 24: the header promises 16 labels, 16 bytes, and the file holds more"));
  }
}

std::vector<malformed> malformed_files_of_gzip() {
  const std::string good = zipped(ten_thousand_labels());
  const std::string again = "; fetch or copy the file again";
  const std::string damaged = "the compressed data are damaged (";
  const std::size_t end = good.size();
  return {
      {"magic_alone", good.substr(0, 2), {"byte 0: the compressed data end too early", again}},
      {"half_a_header", good.substr(0, 6), {"byte 0: the compressed data end too early", again}},
      {"header_alone", good.substr(0, 10), {"byte 0: the compressed data end too early", again}},
      {"unknown_method", with_byte(good, 2, '\x07'), {"byte 0: " + damaged + "unknown compression method)", again}},
      {"reserved_flags", with_byte(good, 3, '\xe0'), {"byte 0: " + damaged + "unknown header flags set)", again}},
      {"name_without_end", with_byte(good.substr(0, 10), 3, '\x08') + std::string(500, 'n'), {"end too early", again}},
      {"extra_too_long", with_byte(good.substr(0, 10), 3, '\x04') + "\xff\xff", {"end too early", again}},
      {"wrong_header_sum",
       with_byte(good.substr(0, 10), 3, '\x02') + "ab" + good.substr(10),
       {damaged + "header crc", again}},
      {"invalid_block", good.substr(0, 10) + "\x07", {"byte 0: " + damaged + "invalid block type)", again}},
      {"stored_lengths",
       good.substr(0, 10) + std::string("\x01\x05\x00\x05\x00zzzzz", 10),
       {damaged + "invalid stored", again}},
      {"too_many_symbols", good.substr(0, 10) + std::string(20, '\xfd'), {damaged, again}},
      {"cut_in_the_middle", good.substr(0, end / 2), {"the compressed data end too early", again}},
      {"cut_before_the_sum", good.substr(0, end - 8), {"byte 10008: the compressed data end too early", again}},
      {"cut_in_the_sum", good.substr(0, end - 3), {"byte 10008: the compressed data end too early", again}},
      {"wrong_sum",
       with_byte(good, end - 8, static_cast<char>(good[end - 8] ^ 1)),
       {damaged + "incorrect data check)", again}},
      {"wrong_length",
       with_byte(good, end - 4, static_cast<char>(good[end - 4] ^ 1)),
       {damaged + "incorrect length check)", again}},
      {"garbage_behind", good + "garbage", {"byte 10008: " + damaged + "incorrect header check)", again}},
      {"half_a_second_member", good + good.substr(0, 9), {"byte 10008: the compressed data end too early", again}},
      {"second_member_too_much",
       good + zipped("x"),
       {"byte 10008: the header promises 10000 labels", "holds more", again}},
      {"nothing_inside", zipped(""), {"byte 0: the file ends after 0 bytes", again}},
      {"short_inside",
       zipped(ten_thousand_labels().substr(0, 100)),
       {"byte 100: the header promises 10000 labels", again}},
      {"zipped_twice", zipped(good), {"byte 0: the magic number is ", "; name an IDX file"}},
  };
}

class malformed_gzip : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_gzip, is_refused_with_place_and_remedy) {
  expect_refusal(GetParam(), [](std::string_view bytes, const char* name) {
    (void)read_labels(byte_source::of_bytes(bytes, name));
  });
}

INSTANTIATE_TEST_SUITE_P(gzip, malformed_gzip, ::testing::ValuesIn(malformed_files_of_gzip()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace prumo::data
