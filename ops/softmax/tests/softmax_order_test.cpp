// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that follow each other on an instance. A device may begin a kernel of softmax before the one before it has
// ended. Results must be those of calls that wait for each other.

#include "all_scalars.hpp"
#include "filling.hpp"
#include <prumo/softmax.hpp>
#include <prumo/transform.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

/// Other numbers in each round.
struct multiplied {
  float factor;
  template <class C>
  KOKKOS_FUNCTION C operator()(C x) const {
    return x * C(factor);
  }
};

template <class T>
class softmax_order : public testing::Test {};
TYPED_TEST_SUITE(softmax_order, tests::all_scalars);

/// Rows in segments, in the scratch memory of a whole device, of a cluster and of a team, and in registers.
TYPED_TEST(softmax_order, calls_see_what_the_calls_before_them_wrote) {
  using matrix = tests::row_major<TypeParam>;
  constexpr int rounds = 5;
  context<exec> ctx;
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 128257},
                                      {2, 200004},
                                      {3, 900007},
                                      {20, 100003},
                                      {140, 20001},
                                      {300, 1000}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const auto run = [&](bool waits) {
      const matrix x("x", rows, columns), y("y", rows, columns);
      std::array<matrix, rounds> results;
      for (matrix& each : results) each = matrix("result", rows, columns);
      tests::set_elements(
          x, [](std::size_t r, std::size_t c) { return TypeParam(static_cast<float>((c * 37 + r * 11) % 64) / 8.0f); });
      const auto wait = [&] {
        if (waits) ctx.fence();
      };
      for (const matrix& result : results) {
        transform(ctx, multiplied{-0.875f}, x, x);
        wait();
        softmax(ctx, x, y);
        wait();
        log_softmax(ctx, y, y);
        wait();
        softmax(ctx, y, result);
        wait();
        transform(ctx, multiplied{0}, y, y);
        wait();
      }
      ctx.fence();
      return results;
    };
    const auto expected = run(true), found = run(false);
    for (int round = 0; round < rounds; ++round) {
      const auto there = tests::host_copy(expected[round]), here = tests::host_copy(found[round]);
      std::int64_t different = 0;
      tests::for_each_index(there, [&](auto r, auto c) { different += there(r, c) != here(r, c) ? 1 : 0; });
      EXPECT_EQ(different, 0) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace prumo
