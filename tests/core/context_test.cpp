// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message_of.hpp"
#include <prumo/context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace prumo {
namespace {

using exec = Kokkos::DefaultExecutionSpace;

TEST(context, workspace_grows_and_is_reused) {
  context<exec> ctx;
  EXPECT_EQ(ctx.workspace_bytes(), 0u);
  void* const first = ctx.workspace(1000);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(ctx.workspace(500), first);
  EXPECT_EQ(ctx.workspace_bytes(), 1000u);
  ctx.workspace(2000);
  EXPECT_EQ(ctx.workspace_bytes(), 2000u);
}

TEST(context, a_workspace_that_cannot_be_had_is_an_error_that_tells_its_size) {
  context<exec> ctx;
  EXPECT_THAT(tests::message_of<memory_error>([&] { ctx.workspace(std::size_t{1} << 60); }),
              testing::HasSubstr("a workspace of 1152921504606846976 bytes in "));
}

TEST(context, a_workspace_that_cannot_grow_leaves_a_context_that_works) {
  context<Kokkos::DefaultExecutionSpace> ctx;
  ctx.workspace(1000);
  EXPECT_THROW(ctx.workspace(std::size_t{1} << 60), memory_error);
  EXPECT_NE(ctx.workspace(500), nullptr);
  EXPECT_GE(ctx.workspace_bytes(), 500u);
}

TEST(context, an_adopted_workspace_is_used_and_never_outgrown) {
  constexpr std::size_t bytes = 4096, alignment = 256;
  const Kokkos::View<std::byte*, exec::memory_space> memory("memory", bytes + alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* const aligned = memory.data() + (alignment - address % alignment) % alignment;
  context<exec> ctx;
  ctx.adopt_workspace(aligned, bytes);
  EXPECT_EQ(ctx.workspace(100), aligned);
  EXPECT_EQ(ctx.workspace(bytes), aligned);
  EXPECT_EQ(ctx.workspace_bytes(), bytes);
  EXPECT_THAT([&] { ctx.workspace(bytes + 1); },
              testing::ThrowsMessage<memory_error>(
                  testing::HasSubstr("the adopted workspace has 4096 bytes, and this call needs 4097")));
  EXPECT_THAT([&] { ctx.adopt_workspace(aligned + 1, 100); },
              testing::ThrowsMessage<argument_error>(testing::HasSubstr("not aligned to 256 bytes")));
  ctx.adopt_workspace(nullptr, 0);
  EXPECT_NE(ctx.workspace(100), aligned);
}

TEST(context, attachments_are_made_once_for_each_type) {
  struct handle {
    int number;
  };
  context<exec> ctx;
  int made = 0;
  const auto make = [&] { return handle{++made}; };
  EXPECT_EQ(ctx.attachment<handle>(make).number, 1);
  EXPECT_EQ(ctx.attachment<handle>(make).number, 1);
  EXPECT_EQ(made, 1);
  context<exec> other;
  EXPECT_EQ(other.attachment<handle>(make).number, 2);
}

TEST(context, moves_with_its_memory) {
  context<exec> ctx;
  void* const memory = ctx.workspace(100);
  context<exec> moved = std::move(ctx);
  EXPECT_EQ(moved.workspace(100), memory);
}

}  // namespace
}  // namespace prumo
