// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/context.hpp>

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
  try {
    ctx.workspace(std::size_t{1} << 60);
    FAIL() << "no error";
  } catch (const memory_error& error) {
    EXPECT_NE(std::string(error.what()).find("a workspace of 1152921504606846976 bytes in "), std::string::npos)
        << error.what();
  }
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
