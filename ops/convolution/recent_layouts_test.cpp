// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recent_layouts.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace prumo::backend {
namespace {

TEST(recent_layouts, choose_once_for_a_problem_and_again_when_it_was_forgotten) {
  using kept_layouts = recent_layouts<int, float>;
  constexpr int most = kept_layouts::most;
  kept_layouts layouts;
  convolution_problem<float> problem;
  int choices = 0;
  const auto find = [&](std::int64_t images, int device) {
    problem.images = images;
    return layouts.find({problem, device}, [&] { return ++choices; });
  };
  EXPECT_EQ(find(0, 0), 1);
  EXPECT_EQ(find(1, 0), 2);
  EXPECT_EQ(find(0, 0), 1);
  EXPECT_EQ(find(1, 1), 3);
  for (std::int64_t images = 2; images < most - 1; ++images) find(images, 0);
  EXPECT_EQ(choices, most);
  EXPECT_EQ(find(0, 0), 1);
  EXPECT_EQ(find(most, 0), most + 1);
  EXPECT_EQ(find(most, 0), most + 1);
  EXPECT_EQ(find(1, 0), 2);
  EXPECT_EQ(find(0, 0), most + 2);
}

TEST(recent_layouts, keys_tell_apart_what_a_layout_depends_on) {
  convolution_problem<float> problem;
  const layout_key<float> key(problem, 0);
  const auto differs = [&](auto& field, auto value) {
    const auto before = std::exchange(field, value);
    const bool answer = layout_key<float>(problem, 0) != key;
    field = before;
    return answer;
  };
  alignas(512) static float numbers[256];
  EXPECT_TRUE(differs(problem.x.data, numbers + 1));
  EXPECT_FALSE(differs(problem.x.data, numbers + 64));
  EXPECT_TRUE(differs(problem.y.row_stride, 7));
  EXPECT_TRUE(differs(problem.filter_rows, 3));
  EXPECT_TRUE(differs(problem.mode, gemm_mode::fast_tf32));
  EXPECT_TRUE(differs(problem.window.rounding, window_rounding::up));
  EXPECT_TRUE(layout_key<float>(problem, 0) == key);
}

}  // namespace
}  // namespace prumo::backend
