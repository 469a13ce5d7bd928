// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "digit_strokes.hpp"

namespace prumo::data {
namespace {

using P = stroke_point;

constexpr P zero_round[]{{2, -38}, {28, -38}, {32, 0}, {28, 38}, {0, 40}, {-28, 38}, {-32, 0}, {-28, -38}, {4, -38}};
constexpr P zero_slim[]{{6, -36}, {20, -40}, {22, 0}, {18, 40}, {0, 40}, {-20, 40}, {-22, 0}, {-18, -38}, {8, -34}};
constexpr P one_line[]{{0, -38}, {0, 38}};
constexpr P one_flag[]{{-18, -20}, {2, -38}, {2, -38}, {2, 38}};
constexpr P one_base[]{{-18, 38}, {20, 38}};
constexpr P two_round[]{{-24, -20}, {-24, -40}, {28, -44}, {26, -4}, {-2, 14}, {-26, 38}, {-26, 38}, {28, 38}};
constexpr P two_loop[]{{-22, -24}, {-12, -44}, {30, -36}, {20, 0}, {0, 34}, {-30, 42}, {-22, 18}, {4, 34}, {28, 34}};
constexpr P three_round[]{{-22, -30}, {-12, -44}, {28, -42}, {26, -4},  {-8, -2},
                          {-8, -2},   {32, 0},    {30, 42},  {-10, 44}, {-26, 28}};
constexpr P three_flat[]{{-24, -36}, {24, -36}, {24, -36}, {-2, -4}, {-2, -4}, {34, 0}, {28, 44}, {-12, 42}, {-26, 28}};
constexpr P four_closed[]{{10, -38}, {-28, 12}, {-28, 12}, {28, 12}};
constexpr P four_stem[]{{10, -38}, {10, 38}};
constexpr P four_open[]{{-20, -36}, {-24, 4}, {-24, 4}, {26, 4}};
constexpr P four_long[]{{16, -38}, {12, 38}};
constexpr P five_round[]{{-18, -36}, {-22, -4}, {-22, -4}, {22, -20}, {34, 14}, {20, 44}, {-14, 42}, {-26, 28}};
constexpr P five_top[]{{-18, -36}, {24, -36}};
constexpr P six_round[]{{18, -38}, {-14, -34}, {-34, 8}, {-24, 42}, {22, 44}, {30, 14}, {10, -8}, {-22, 4}, {-26, 18}};
constexpr P six_straight[]{{8, -38}, {-16, -10}, {-30, 20}, {-16, 42}, {20, 42}, {28, 12}, {0, 0}, {-24, 20}};
constexpr P seven_plain[]{{-26, -36}, {26, -36}, {26, -36}, {-6, 38}};
constexpr P seven_bent[]{{-26, -26}, {-24, -36}, {26, -36}, {26, -36}, {2, -4}, {-4, 38}};
constexpr P seven_bar[]{{-14, 2}, {18, 2}};
constexpr P eight_loops[]{{0, -2}, {26, -10}, {24, -42}, {-24, -42}, {-26, -10}, {0, -2},
                          {32, 6}, {28, 44},  {-28, 44}, {-32, 6},   {0, -2}};
constexpr P eight_cross[]{{20, -26}, {10, -44}, {-28, -40}, {-20, -8}, {14, 4},  {34, 40},
                          {-4, 46},  {-36, 40}, {-16, 2},   {14, -6},  {20, -26}};
constexpr P nine_round[]{{26, -18}, {22, -42}, {-20, -44}, {-30, -14}, {-12, 6},
                         {18, 0},   {26, -20}, {28, 18},   {6, 44},    {-18, 36}};
constexpr P nine_straight[]{{22, -26}, {8, -44},  {-24, -36}, {-28, -6}, {-2, 4},
                            {22, -14}, {24, -26}, {20, 0},    {8, 38}};

constexpr stroke zero_a[]{zero_round}, zero_b[]{zero_slim};
constexpr stroke one_a[]{one_line}, one_b[]{one_flag}, one_c[]{one_flag, one_base};
constexpr stroke two_a[]{two_round}, two_b[]{two_loop};
constexpr stroke three_a[]{three_round}, three_b[]{three_flat};
constexpr stroke four_a[]{four_closed, four_stem}, four_b[]{four_open, four_long};
constexpr stroke five_a[]{five_round, five_top};
constexpr stroke six_a[]{six_round}, six_b[]{six_straight};
constexpr stroke seven_a[]{seven_plain}, seven_b[]{seven_bent}, seven_c[]{seven_plain, seven_bar};
constexpr stroke eight_a[]{eight_loops}, eight_b[]{eight_cross};
constexpr stroke nine_a[]{nine_round}, nine_b[]{nine_straight};

constexpr strokes zero[]{zero_a, zero_b};
constexpr strokes one[]{one_a, one_b, one_c};
constexpr strokes two[]{two_a, two_b};
constexpr strokes three[]{three_a, three_b};
constexpr strokes four[]{four_a, four_b};
constexpr strokes five[]{five_a};
constexpr strokes six[]{six_a, six_b};
constexpr strokes seven[]{seven_a, seven_b, seven_c};
constexpr strokes eight[]{eight_a, eight_b};
constexpr strokes nine[]{nine_a, nine_b};

constexpr std::array<std::span<const strokes>, 10> strokes_of_digits{zero, one, two,   three, four,
                                                                     five, six, seven, eight, nine};

}  // namespace

std::span<const strokes> ways_of_writing(std::int64_t digit) {
  return strokes_of_digits.at(static_cast<std::size_t>(digit));
}

}  // namespace prumo::data
