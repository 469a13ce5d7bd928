// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One launch, its counters and the workspace between calls: contexts one after the other, side by side, and recorded.

#include "all_reductions.hpp"
#include "own_instance.hpp"
#include <prumo/backend/recorded_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace prumo {
namespace {

using tests::scalar_of;
using tests::space;

/// The sums of n ones, for growing and shrinking n in turns: the workspace grows and moves between calls whose last
/// team relies on counters being 0.
TEST(reductions_of_one_context, take_turns_at_all_sizes) {
  context<space> ctx(tests::make_own_instance<space>());
  const std::size_t most = std::size_t{3} << 20;
  const Kokkos::View<float*, space> x("x", most);
  Kokkos::deep_copy(x, 1.0f);
  const Kokkos::View<float, space> total("total"), largest("largest");
  const Kokkos::View<float*, space> of_rows("of_rows", 4000);
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t n : {std::size_t{10}, most, std::size_t{1000}, std::size_t{5000}, most / 3,
                                std::size_t{20000}, most - 1, std::size_t{70000}}) {
      const auto part = Kokkos::subview(x, std::pair<std::size_t, std::size_t>(0, n));
      sum(ctx, part, total);
      ASSERT_EQ((ctx.fence(), scalar_of(total)), static_cast<float>(n));
      const std::size_t rows = 1 + n % 7;
      const Kokkos::View<float**, Kokkos::LayoutRight, space, Kokkos::MemoryUnmanaged> matrix(x.data(), rows, n / rows);
      const auto some = Kokkos::subview(of_rows, std::pair<std::size_t, std::size_t>(0, rows));
      sum_rows(ctx, matrix, some);
      const Kokkos::View<float**, Kokkos::LayoutLeft, space, Kokkos::MemoryUnmanaged> columns(x.data(), rows, n / rows);
      max(ctx, columns, largest);
      ctx.fence();
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_rows);
      const std::size_t each = n / rows;
      for (std::size_t row = 0; row < rows; ++row) ASSERT_EQ(host(row), static_cast<float>(each));
      ASSERT_EQ(scalar_of(largest), 1.0f);
      sum_rows(ctx, columns, some);
      ctx.fence();
      const auto again = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_rows);
      for (std::size_t row = 0; row < rows; ++row) ASSERT_EQ(again(row), static_cast<float>(each));
    }
  }
}

/// Calls of two contexts are under way at the same time: neither counts the other's teams.
TEST(reductions_of_two_contexts, do_not_disturb_each_other) {
  context<space> first(tests::make_own_instance<space>());
  context<space> second(tests::make_own_instance<space>());
  constexpr std::size_t n = std::size_t{1} << 20;
  const Kokkos::View<float*, space> ones("ones", n), twos("twos", n);
  Kokkos::deep_copy(ones, 1.0f);
  Kokkos::deep_copy(twos, 2.0f);
  const Kokkos::View<float, space> of_ones("of_ones"), of_twos("of_twos");
  Kokkos::fence();
  for (int round = 0; round < 20; ++round) {
    sum(first, ones, of_ones);
    sum(second, twos, of_twos);
  }
  first.fence();
  second.fence();
  EXPECT_EQ(scalar_of(of_ones), static_cast<float>(n));
  EXPECT_EQ(scalar_of(of_twos), 2.0f * static_cast<float>(n));
}

/// A recorded call leaves its counters as it found them: replays and plain calls may follow one another.
TEST(recorded_reductions, can_be_replayed_between_other_calls) {
  const space instance = tests::make_own_instance<space>();
  context<space> ctx(instance);
  constexpr std::size_t n = 700001;
  const Kokkos::View<double*, space> x("x", n);
  Kokkos::deep_copy(x, 1.0);
  const Kokkos::View<double, space> recorded_total("recorded_total"), total("total");
  Kokkos::fence();
  sum(ctx, x, recorded_total);
  ctx.fence();
  const auto recorded = backend::record_calls(instance, [&] { sum(ctx, x, recorded_total); });
  if (recorded == nullptr) GTEST_SKIP() << "nothing can be recorded here";
  for (int round = 1; round < 10; ++round) {
    Kokkos::deep_copy(instance, x, static_cast<double>(round));
    recorded->replay();
    sum(ctx, x, total);
    recorded->replay();
    ctx.fence();
    ASSERT_EQ(scalar_of(recorded_total), static_cast<double>(round) * static_cast<double>(n));
    ASSERT_EQ(scalar_of(total), static_cast<double>(round) * static_cast<double>(n));
  }
}

TEST(reductions_in_an_adopted_workspace, need_no_zeros_in_it) {
  context<space> ctx;
  constexpr std::size_t bytes = 1 << 16;
  const Kokkos::View<std::byte*, space> memory("memory", bytes + 256);
  Kokkos::deep_copy(memory, std::byte{0xa5});
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  ctx.adopt_workspace(memory.data() + (256 - address % 256) % 256, bytes);
  const Kokkos::View<float*, space> x("x", 300000);
  Kokkos::deep_copy(x, 1.0f);
  const Kokkos::View<float, space> total("total");
  for (int round = 0; round < 3; ++round) {
    sum(ctx, x, total);
    ctx.fence();
    ASSERT_EQ(scalar_of(total), 300000.0f);
    Kokkos::deep_copy(memory, std::byte{0x5a});
  }
}

}  // namespace
}  // namespace prumo
