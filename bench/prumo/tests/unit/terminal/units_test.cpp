// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace prumo::bench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(parse_bytes, reads_powers_of_two) {
  EXPECT_EQ(parse_bytes("1"), 1u);
  EXPECT_EQ(parse_bytes("4096B"), 4096u);
  EXPECT_EQ(parse_bytes("2KB"), 2048u);
  EXPECT_EQ(parse_bytes("2MB"), 2u << 20);
  EXPECT_EQ(parse_bytes("2MiB"), 2u << 20);
  EXPECT_EQ(parse_bytes(" 2 mb "), 2u << 20);
  EXPECT_EQ(parse_bytes("2M"), 2u << 20);
  EXPECT_EQ(parse_bytes("1.5GB"), 3ull << 29);
  EXPECT_EQ(parse_bytes("1TB"), 1ull << 40);
  EXPECT_EQ(parse_bytes("8191PB"), 8191ull << 50);
  EXPECT_EQ(parse_bytes("0.5KB"), 512u);
  EXPECT_EQ(parse_bytes("2.50KB"), 2560u);
  EXPECT_EQ(parse_bytes("9223372036854775807"), 9223372036854775807ull);
}

TEST(parse_bytes, refuses_with_the_text_and_what_is_accepted) {
  for (const char* text : {"",
                           "  ",
                           "0",
                           "0MB",
                           "0.0GB",
                           "-2MB",
                           "MB",
                           "2XB",
                           "2MBB",
                           "two",
                           "2,5MB",
                           "1e6",
                           "0x10",
                           "2 M B",
                           "8192PB",
                           "18446744073709551615",
                           "99999999999999999999999",
                           "0.3B",
                           "1.1KB",
                           ".",
                           "1.",
                           "1.2.3MB",
                           "2EB",
                           "nan",
                           "inf",
                           "+2MB"}) {
    EXPECT_THROW((void)parse_bytes(text), unit_error) << text;
  }
  EXPECT_THAT([] { (void)parse_bytes("-2MB"); },
              ThrowsMessage<unit_error>(AllOf(HasSubstr("'-2MB'"), HasSubstr("negative"), HasSubstr("2 MiB"))));
  EXPECT_THAT([] { (void)parse_bytes("0"); }, ThrowsMessage<unit_error>(HasSubstr("zero")));
  EXPECT_THAT([] { (void)parse_bytes("3XB"); }, ThrowsMessage<unit_error>(HasSubstr("unknown unit 'XB'")));
  EXPECT_THAT([] { (void)parse_bytes("9000PB"); }, ThrowsMessage<unit_error>(HasSubstr("2^63")));
  EXPECT_THAT([] { (void)parse_bytes("1.1KB"); }, ThrowsMessage<unit_error>(HasSubstr("not a whole number")));
  EXPECT_THAT([] { (void)parse_bytes("\x1b[31m"); }, ThrowsMessage<unit_error>(HasSubstr(R"('\x1b[31m')")));
}

TEST(parse_byte_sizes, reads_lists_and_doubling_ranges) {
  EXPECT_THAT(parse_byte_sizes("2MB"), ElementsAre(2u << 20));
  EXPECT_THAT(parse_byte_sizes("2KB:16KB"), ElementsAre(2048, 4096, 8192, 16384));
  EXPECT_THAT(parse_byte_sizes("3KB:13KB"), ElementsAre(3072, 6144, 12288));
  EXPECT_THAT(parse_byte_sizes("1KB:1KB"), ElementsAre(1024));
  EXPECT_THAT(parse_byte_sizes("8KB, 1KB:4KB,2KB"), ElementsAre(8192, 1024, 2048, 4096));
  EXPECT_EQ(parse_byte_sizes("2MB:1GB").size(), 10u);
  EXPECT_EQ(parse_byte_sizes("1:4096PB").size(), 63u);
}

TEST(parse_byte_sizes, refuses) {
  for (const char* text : {"", ",", "1KB,", ",1KB", "1KB:", ":1KB", "4KB:2KB", "1KB:2KB:4KB", "1KB-2KB"}) {
    EXPECT_THROW((void)parse_byte_sizes(text), unit_error) << text;
  }
  EXPECT_THAT([] { (void)parse_byte_sizes("2MB,4KB:2KB"); },
              ThrowsMessage<unit_error>(AllOf(HasSubstr("'4KB:2KB'"), HasSubstr("SMALLEST:LARGEST"))));
}

TEST(parse_duration, reads_seconds) {
  EXPECT_DOUBLE_EQ(parse_duration("15"), 15);
  EXPECT_DOUBLE_EQ(parse_duration("15s"), 15);
  EXPECT_DOUBLE_EQ(parse_duration("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(parse_duration("2min"), 120);
  EXPECT_DOUBLE_EQ(parse_duration("2 min 30 s"), 150);
  EXPECT_DOUBLE_EQ(parse_duration("2min30s"), 150);
  EXPECT_DOUBLE_EQ(parse_duration("1.5h"), 5400);
  EXPECT_DOUBLE_EQ(parse_duration("20us"), 20e-6);
  EXPECT_DOUBLE_EQ(parse_duration("20µs"), 20e-6);
}

TEST(parse_duration, refuses) {
  for (const char* text : {"", "0", "0s", "-1s", "s", "1x", "nan", "inf", "1e3", "2min-30s", "9999999h", "1..5s"}) {
    EXPECT_THROW((void)parse_duration(text), unit_error) << text;
  }
  EXPECT_THAT([] { (void)parse_duration("3 fortnights"); },
              ThrowsMessage<unit_error>(AllOf(HasSubstr("'3 fortnights'"), HasSubstr("500ms, 15s, 2min"))));
}

TEST(parse_percentage, needs_its_sign) {
  EXPECT_DOUBLE_EQ(parse_percentage("2%"), 0.02);
  EXPECT_DOUBLE_EQ(parse_percentage("0.5 %"), 0.005);
  EXPECT_DOUBLE_EQ(parse_percentage("0%"), 0);
  for (const char* text : {"", "2", "-2%", "%", "2%%", "two%"})
    EXPECT_THROW((void)parse_percentage(text), unit_error) << text;
  EXPECT_THAT([] { (void)parse_percentage("2"); }, ThrowsMessage<unit_error>(HasSubstr("lacks its % sign")));
}

TEST(format_bytes, is_short_and_does_not_pretend) {
  EXPECT_EQ(format_bytes(0), "0B");
  EXPECT_EQ(format_bytes(1023), "1023B");
  EXPECT_EQ(format_bytes(1024), "1KiB");
  EXPECT_EQ(format_bytes(4095), "4095B");
  EXPECT_EQ(format_bytes(1536), "1.5KiB");
  EXPECT_EQ(format_bytes(2u << 20), "2MiB");
  EXPECT_EQ(format_bytes(3ull << 29), "1.5GiB");
  EXPECT_EQ(format_bytes(16000000), "15.26MiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16EiB");
}

TEST(format_significant, rounds_before_it_chooses_the_places) {
  EXPECT_EQ(format_significant(38.06, 3), "38.1");
  EXPECT_EQ(format_significant(9.996, 3), "10.0");
  EXPECT_EQ(format_significant(999.9, 3), "1000");
  EXPECT_EQ(format_significant(0.00123, 2), "0.0012");
  EXPECT_EQ(format_significant(-2.5, 2), "-2.5");
  EXPECT_EQ(format_significant(0, 3), "0");
  EXPECT_EQ(format_significant(1e-9, 2), "1.0e-09");
  EXPECT_EQ(format_significant(std::nan(""), 3), "n/a");
}

TEST(format_seconds, chooses_the_unit) {
  EXPECT_EQ(format_seconds(3.2e-9), "3.20 ns");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 µs");
  EXPECT_EQ(format_seconds(999.96e-6), "1.00 ms");
  EXPECT_EQ(format_seconds(1.05e-3), "1.05 ms");
  EXPECT_EQ(format_seconds(2), "2.00 s");
  EXPECT_EQ(format_seconds(1234), "1234 s");
  EXPECT_EQ(format_seconds(1e-12), "0.00100 ns");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "n/a");
}

TEST(format_duration, is_for_people) {
  EXPECT_EQ(format_duration(0.52), "0.5 s");
  EXPECT_EQ(format_duration(9.97), "10 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(125), "2 min 05 s");
  EXPECT_EQ(format_duration(3725), "1 h 02 min");
  EXPECT_EQ(format_duration(-1), "n/a");
}

TEST(format_rate, takes_si_prefixes) {
  EXPECT_EQ(format_rate(3.81e10, "B/s"), "38.1 GB/s");
  EXPECT_EQ(format_rate(66.9e12, "FLOP/s"), "66.9 TFLOP/s");
  EXPECT_EQ(format_rate(999.6e9, "B/s"), "1.00 TB/s");
  EXPECT_EQ(format_rate(12, "B/s"), "12.0 B/s");
  EXPECT_EQ(format_rate(0, "B/s"), "0 B/s");
  EXPECT_EQ(format_rate(std::nan(""), "B/s"), "n/a");
}

TEST(format_percent, keeps_three_digits) {
  EXPECT_EQ(format_percent(97.34), "97.3 %");
  EXPECT_EQ(format_percent(0.4242), "0.42 %");
  EXPECT_EQ(format_percent(104.2), "104 %");
}

TEST(format_bytes_rounded, has_three_digits_at_most_unless_the_number_is_whole) {
  EXPECT_EQ(format_bytes_rounded(512), "512B");
  EXPECT_EQ(format_bytes_rounded(15733), "15.4KiB");
  EXPECT_EQ(format_bytes_rounded(65536), "64KiB");
  EXPECT_EQ(format_bytes_rounded(1.5 * 1024 * 1024 * 1024), "1.50GiB");
  EXPECT_EQ(format_bytes_rounded(1023.0 * 1024), "1023KiB");
}

}  // namespace
}  // namespace prumo::bench
