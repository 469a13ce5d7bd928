// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kernel a device takes for which rows, whatever device this machine has.

#include "device/softmax_column_major_kernel.hpp"
#include "device/softmax_kept_rows_kernel.hpp"
#include "device/softmax_long_rows_kernel.hpp"
#include "device/softmax_shared_rows_kernel.hpp"
#include "device/softmax_short_rows_choice.hpp"
#include "device/softmax_spread_rows_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace prumo {
namespace {

TEST(softmax, a_device_chooses_a_form_for_short_rows) {
  using form = detail::softmax_short_form;
  using singles = detail::softmax_short_rows_choice<float>;
  using halves = detail::softmax_short_rows_choice<bf16>;
  using doubles = detail::softmax_short_rows_choice<double>;
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  for (const std::int64_t columns : {2, 3, 4}) {
    EXPECT_EQ(singles::of(1, columns, true), form::row_of_thread) << columns;
    EXPECT_EQ(singles::of(100'000'000, columns, true), form::row_of_thread) << columns;
  }
  for (const std::int64_t columns : {5, 9, 15}) {
    EXPECT_EQ(singles::of(8 * mebibyte / 4 / columns, columns, true), form::elements) << columns;
    EXPECT_EQ(singles::of(8 * mebibyte / 4 / columns + 1, columns, true), form::tiles) << columns;
  }
  for (const std::int64_t columns : {17, 97, 255}) {
    EXPECT_EQ(singles::of(100'000'000, columns, true), form::elements) << columns;
  }
  for (const auto& [columns, mebibytes] : {std::pair{2, 5}, std::pair{5, 3}, std::pair{17, 5}, std::pair{65, 14}}) {
    EXPECT_EQ(halves::of(mebibytes * mebibyte / 2 / columns, columns, true), form::elements) << columns;
    EXPECT_EQ(halves::of(mebibytes * mebibyte / 2 / columns + 1, columns, true), form::tiles) << columns;
  }
  for (const std::int64_t columns : {97, 128, 129, 160, 161, 255}) {
    const bool short_enough = columns <= 128;
    EXPECT_EQ(halves::of(1, columns, true), short_enough ? form::packs : form::elements) << columns;
    const bool leaves_threads_idle = columns > 128 && columns <= 160;
    EXPECT_EQ(halves::of(100'000'000, columns, true), leaves_threads_idle ? form::elements : form::packs) << columns;
    EXPECT_EQ(halves::of(100'000'000, columns, false), form::elements) << columns;
  }
  for (const std::int64_t columns : {2, 65, 127}) EXPECT_EQ(doubles::of(1, columns, true), form::tiles) << columns;
}

TEST(softmax, a_device_gives_a_row_to_a_team_where_there_are_many) {
  using partition = detail::softmax_long_partition;
  constexpr std::int64_t kibibyte = 1024;
  EXPECT_TRUE(partition::gives_rows_to_teams(64, 160 * kibibyte));
  EXPECT_FALSE(partition::gives_rows_to_teams(63, 160 * kibibyte));
  EXPECT_TRUE(partition::gives_rows_to_teams(96, 512 * kibibyte));
  EXPECT_FALSE(partition::gives_rows_to_teams(95, 512 * kibibyte));
  EXPECT_FALSE(partition::gives_rows_to_teams(1'000'000, 512 * kibibyte + 1));
}

detail::team_resources an_h100() {
  detail::team_resources device;
  device.multiprocessors = 132;
  device.bytes_of_team = 227 * 1024;
  device.bytes_of_multiprocessor = 228 * 1024;
  return device;
}

TEST(softmax, a_device_keeps_rows_in_scratch_memory_if_it_holds_two_or_goes_round) {
  const auto teams = [](std::int64_t rows, std::int64_t team_bytes, bool fits_registers) {
    return detail::softmax_kept_choice::teams(rows, 12'000, team_bytes, fits_registers, an_h100());
  };
  EXPECT_EQ(teams(64, 113 * 1024, false), 2);
  EXPECT_EQ(teams(64, 113 * 1024, true), 2);
  EXPECT_EQ(teams(63, 113 * 1024, false), 0);
  EXPECT_EQ(teams(132, 113 * 1024 + 1, false), 0);
  EXPECT_EQ(teams(133, 113 * 1024 + 1, false), 1);
  EXPECT_EQ(teams(133, 113 * 1024 + 1, true), 0);
  EXPECT_EQ(teams(1000, 227 * 1024, false), 1);
  EXPECT_EQ(teams(1000, 227 * 1024 + 1, false), 0);
  EXPECT_EQ(detail::softmax_kept_choice::teams(64, 11'999, 48 * 1024, true, an_h100()), 0);
}

TEST(softmax, a_device_shares_rows_among_teams_until_these_keep_it_busy) {
  const auto teams = [](std::int64_t rows, std::int64_t kibibytes, bool keeps_row = false) {
    return detail::softmax_shared_choice::teams(rows, kibibytes * 1024, 4, keeps_row, an_h100());
  };
  for (const std::int64_t rows : {1, 60, 100'000}) EXPECT_EQ(teams(rows, 35), 0) << rows;
  EXPECT_EQ(teams(100'000, 36), 1);
  EXPECT_EQ(teams(100'000, 72), 1);
  EXPECT_EQ(teams(100'000, 73), 2);
  EXPECT_EQ(teams(100'000, 145), 4);
  EXPECT_EQ(teams(100'000, 289), 8);
  EXPECT_EQ(teams(100'000, 8 * 110), 8);
  EXPECT_EQ(teams(100'000, 8 * 110 + 1), 0);
  // Two teams a multiprocessor hold longer parts, and need not share them.
  EXPECT_EQ(teams(264, 110), 1);
  EXPECT_EQ(teams(265, 110), 2);
  // Few rows have more teams, as long as each team has something to do.
  EXPECT_EQ(teams(99, 60), 2);
  EXPECT_EQ(teams(100, 60), 1);
  EXPECT_EQ(teams(20, 160), 8);
  EXPECT_EQ(teams(1, 40), 4);
  EXPECT_EQ(teams(8, 600), 0);
  EXPECT_EQ(teams(9, 600), 8);
  EXPECT_EQ(teams(1, 8 * 32), 8);
  EXPECT_EQ(teams(1, 8 * 32 + 1), 0);
  // A large team a row is as good where it keeps every multiprocessor busy.
  EXPECT_EQ(teams(67, 100, true), 0);
  EXPECT_EQ(teams(66, 100, true), 2);
  EXPECT_EQ(teams(133, 100, true), 1);
  // A team computes 16-bit numbers faster in its registers.
  EXPECT_EQ(detail::softmax_shared_choice::teams(132, 63 * 1024, 2, false, an_h100()), 0);
  EXPECT_EQ(detail::softmax_shared_choice::teams(133, 63 * 1024, 2, false, an_h100()), 1);
  EXPECT_EQ(detail::softmax_shared_choice::teams(30, 64 * 1024, 2, false, an_h100()), 4);
}

TEST(softmax, a_device_spreads_few_long_rows_over_all_multiprocessors) {
  const auto teams = [](std::int64_t rows, std::int64_t kibibytes) {
    return detail::softmax_spread_choice::teams(rows, kibibytes * 1024, an_h100());
  };
  // Two kernels take less time for less.
  EXPECT_EQ(teams(1, 3 * 1024 - 1), 0);
  EXPECT_EQ(teams(1, 3 * 1024), 132);
  EXPECT_EQ(teams(6, 511), 0);
  EXPECT_EQ(teams(6, 512), 22);
  // A team has a multiprocessor, and 223 KiB for its part.
  EXPECT_EQ(teams(1, 132 * 223), 132);
  EXPECT_EQ(teams(1, 132 * 223 + 1), 0);
  EXPECT_EQ(teams(7, 18 * 223), 18);
  EXPECT_EQ(teams(7, 18 * 223 + 1), 0);
  EXPECT_EQ(teams(132, 223), 1);
  EXPECT_EQ(teams(133, 223), 0);
}

TEST(softmax, a_device_shares_out_rows_that_lie_side_by_side) {
  using choice = detail::softmax_column_major_choice<float>;
  struct expected {
    std::int64_t rows, columns;
    int threads, held, row_lanes, column_lanes;
  };
  for (const expected& it : {expected{100'003, 5, 256, 16, 256, 1}, expected{100'003, 16, 256, 16, 256, 1},
                             expected{100'003, 17, 256, 16, 128, 2}, expected{100'003, 128, 256, 16, 32, 8},
                             expected{100'003, 129, 512, 16, 32, 16}, expected{100'003, 512, 512, 16, 16, 32},
                             expected{100'003, 513, 512, 32, 16, 32}, expected{100'003, 1024, 512, 32, 16, 32},
                             // Few rows have more threads each.
                             expected{1000, 64, 256, 16, 16, 16}, expected{3, 64, 256, 16, 4, 64}}) {
    SCOPED_TRACE(std::to_string(it.rows) + " x " + std::to_string(it.columns));
    const choice found = choice::of(it.rows, it.columns);
    EXPECT_EQ(found.threads, it.threads);
    EXPECT_EQ(found.held, it.held);
    EXPECT_EQ(found.tiles.row_lanes, it.row_lanes);
    EXPECT_EQ(found.tiles.column_lanes, it.column_lanes);
    EXPECT_EQ(found.tiles.chunks, 1);
  }
  EXPECT_EQ(choice::of(4096, 1025).tiles.chunks, 9);
  EXPECT_EQ(choice::of(4096, 4096).tiles.chunks, 9);
  EXPECT_EQ(choice::of(60, 84'867).tiles.chunks, 264);
  EXPECT_EQ(choice::of(100'000, 50'000).tiles.chunks, 1);
  EXPECT_EQ(detail::softmax_column_major_choice<double>::of(100'003, 512).held, 8);
  EXPECT_EQ(detail::softmax_column_major_choice<double>::of(100, 513).tiles.tiles, 4);
}

TEST(softmax, a_device_cuts_rows_into_segments_that_fill_its_teams) {
  const auto segment = [](std::int64_t rows, std::int64_t columns) {
    return detail::softmax_long_partition::of(rows, columns, 8192).segment;
  };
  EXPECT_EQ(segment(1, 300'003), 4096);
  EXPECT_EQ(segment(3, 300'000), 4096);
  EXPECT_EQ(segment(32, 50'257), 8192);
  EXPECT_EQ(segment(1, 3'000'003), 8192);
  EXPECT_EQ(segment(7, 1'000'003), 16384);
  EXPECT_EQ(segment(12, 1'000'003), 24576);
  const auto cut = detail::softmax_long_partition::of(7, 1'000'003, 8192);
  EXPECT_EQ(cut.segments, 62);
}

}  // namespace
}  // namespace prumo
