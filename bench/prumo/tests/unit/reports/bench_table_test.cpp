// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/bench_table.hpp"

#include "sample_results.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

text_style of_width(int width) {
  text_style style;
  style.width = width;
  return style;
}

TEST(bench_table, is_understood_at_once) {
  EXPECT_EQ(bench_table(testing::sample_document(), of_width(120)), R"(openmp:0: Example CPU, 2 threads

all rows: device openmp:0, type f32, layout right, compute mode strict, data resident, cache cold
  size  shape       implementation     time  ±              rate  % of roofline  bound    % of peak  kernel  check
add
  2MiB              kernel           165 µs  ±1.0%     38.1 GB/s          95.8%  memory                      ✓
128MiB              kernel          8.40 ms  ±1.0%     47.9 GB/s          95.8%  memory                      ✓
gemm (alpha=1 beta=0 trans_a=0 trans_b=0)
 16MiB  k=m=n=2048  openblas         100 ms  ±1.0%   172 GFLOP/s          90.4%  compute      86.6%          ✓
 16MiB  k=m=n=2048  kernel           500 ms  ±1.0%  34.4 GFLOP/s          18.1%  compute      17.3%  498 ms  ✗ WRONG [1]
sum
  2MiB                                                                                                       failed [2]
The terminal is too narrow. Left out: h2d, d2h. A file or a pipe gets the whole table.

[1]  IMPOSSIBLE: 104 % of the peak at the measured clock
[2]  failed: prumo-worker-openmp was killed by signal 9

skipped  2 cases  a host device has no transfers: add 2MiB pageable openmp:0, add 128MiB pageable openmp:0

4 ok (3 verified, 1 WRONG), 2 skipped, 1 failed
time: median ± half of its 95% interval; n: number of samples, if they are few. % of roofline: the time that the
ceilings measured here allow, over the time taken. % of peak: share of the theoretical peak. check: whether the result
agreed with a reference in this run.
GFLOP/s of a library: the flops that prumo's own kernel of the operation executes, because those of a library cannot be
counted.
pinned, pageable: each call copies its inputs from such host memory to the device, and its results back. time: the whole
call. h2d, d2h: the copies alone. kernel: the rest.
)");
}

TEST(bench_table, tells_how_many_cases_were_stopped_early) {
  json document = testing::sample_document();
  EXPECT_THAT(bench_table(document, of_width(120)), ::testing::Not(HasSubstr("stopped early")));
  document["results"][0]["time_s"]["stop"] = "steady";
  EXPECT_THAT(bench_table(document, of_width(120)),
              HasSubstr("1 case stopped early: the noise no longer changed, and the time left was too short for "
                        "--target-noise.\n"));
  document["results"][1]["time_s"]["stop"] = "steady";
  EXPECT_THAT(bench_table(document, of_width(120)), HasSubstr("2 cases stopped early"));
}

TEST(bench_table, is_whole_in_a_pipe) {
  text_style pipe = of_width(20);
  pipe.whole_cells = true;
  const std::string table = bench_table(testing::sample_document(), pipe);
  EXPECT_THAT(table, HasSubstr("kernel      h2d     d2h  check\n"));
  EXPECT_THAT(table,
              HasSubstr(" 16MiB  k=m=n=2048  openblas         100 ms  ±1.0%   172 GFLOP/s          90.4%  compute"));
}

TEST(bench_table, speaks_ascii) {
  text_style style = of_width(120);
  style.unicode = false;
  const std::string table = bench_table(testing::sample_document(), style);
  for (const char c : table) ASSERT_LT(static_cast<unsigned char>(c), 0x80u) << table;
  EXPECT_THAT(table, HasSubstr("165 us"));
}

TEST(bench_table, says_once_what_all_rows_share) {
  const json document = testing::document_of({testing::sample_result("add", 2097152, 1e-4)});
  const std::string table = bench_table(document, of_width(100));
  EXPECT_THAT(
      table,
      HasSubstr("all rows: size 2MiB, device openmp:0, type f32, layout right, compute mode strict, data resident,\n"
                "cache cold, implementation kernel\n"));
  EXPECT_THAT(table, HasSubstr("1 ok (1 verified)\n"));
}

TEST(bench_table, of_no_results) {
  EXPECT_EQ(bench_table(testing::document_of({}), of_width(100)), "openmp:0: Example CPU, 2 threads\nNo results.\n");
}

TEST(bench_table, shows_parameters_that_differ) {
  json plain = testing::sample_document()["results"][4];
  json transposed = plain;
  transposed["parameters"]["trans_a"] = 1;
  const std::string table = bench_table(testing::document_of({plain, transposed}), of_width(120));
  EXPECT_THAT(table, HasSubstr("\ngemm (alpha=1 beta=0 trans_b=0)\ntrans_a=0 "));
  EXPECT_THAT(table, HasSubstr("\ntrans_a=1 "));
}

TEST(bench_table, a_wrong_result_says_so_where_it_failed) {
  json result = testing::skipped_result("add", 2097152);
  result["status"] = "failed";
  result["reason"] = "the result is wrong: error 3 where 0.5 is allowed";
  result["verified"] = false;
  const std::string table = bench_table(testing::document_of({result}), of_width(100));
  EXPECT_THAT(table, HasSubstr("✗ WRONG [1]"));
  EXPECT_THAT(table, HasSubstr("0 ok (0 verified), 1 failed (1 WRONG)"));
}

TEST(bench_table, one_sample_has_no_known_spread) {
  json result = testing::sample_result("add", 2097152, 1e-4);
  result["time_s"]["samples"] = {1e-4};
  result["time_s"]["interval"] = nullptr;
  EXPECT_THAT(bench_table(testing::document_of({result}), of_width(100)), HasSubstr("100 µs  n=1 "));
}

TEST(bench_table, few_samples_stand_beside_their_interval) {
  json result = testing::sample_result("add", 2097152, 1e-4);
  result["time_s"]["samples"] = std::vector<double>(8, 1e-4);
  EXPECT_THAT(bench_table(testing::document_of({result}), of_width(100)), HasSubstr("100 µs  ±1.0% n=8 "));
}

TEST(bench_table, is_harmless_with_hostile_text) {
  json document = testing::sample_document();
  document["devices"][0]["name"] = "\x1b]0;owned\x07 CPU\nline";
  document["results"][0]["op"] = "add\x1b[2J";
  document["results"][2]["reason"] = std::string("\x9b\xff\n\x1b[A") + std::string(5000, 'x');
  const std::string table = bench_table(document, of_width(80));
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_EQ(table.find('\x07'), std::string::npos);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(bench_table, fits_every_width) {
  for (int width = 20; width <= 140; width += 7) {
    std::istringstream lines(bench_table(testing::sample_document(), of_width(width)));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(bench_table, has_room_for_ten_thousand_rows) {
  std::vector<json> results;
  for (std::uint64_t i = 1; i <= 10000; ++i) {
    results.push_back(i % 3 == 0 ? testing::skipped_result("add", 4 * i) : testing::sample_result("add", 4 * i, 1e-5));
  }
  const json document = testing::document_of(std::move(results));
  const std::string table = bench_table(document, of_width(100));
  EXPECT_THAT(table, HasSubstr("6667 ok (6667 verified), 3333 skipped"));
}

}  // namespace
}  // namespace prumo::bench
