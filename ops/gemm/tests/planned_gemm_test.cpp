// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products through a library that proposes algorithms, with a library made up on the host whose time is not real.

#include "planned_gemm.hpp"

#include <prumo/error.hpp>
#include <prumo/spaces.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace prumo::backend {
namespace {

using host = Kokkos::DefaultHostExecutionSpace;
using testing::ElementsAre;

constexpr double infinite = std::numeric_limits<double>::infinity();

enum class type_name { f32 };
enum class sum_name { f32 };
using key_type = gemm_plan_key<type_name, sum_name>;

/// What the made-up library proposes, and what it was asked.
struct script {
  std::vector<double> seconds;   ///< of each proposal; infinite: refused when it is run
  double otherwise_seconds = 1;  ///< of the vendor's other library
  bool otherwise_refuses = false;
  bool captured = false;
  bool fuses = true;  ///< proposes something for products with an epilogue

  double now = 0;
  int devices_current = 0;
  int plans_made = 0;
  int waits = 0;          ///< for the clock
  std::vector<int> runs;  ///< proposals, and -1 for the other library
};
script played;

void multiply(const gemm_plan_shape& shape, const gemm_plan_operands& of) {
  EXPECT_GE(played.devices_current, 1);
  const auto [m, n, k, batch] = shape.extents;
  const auto* const a = static_cast<const float*>(of.a);
  const auto* const b = static_cast<const float*>(of.b);
  auto* const c = static_cast<float*>(of.c);
  const float alpha = *static_cast<const float*>(of.alpha);
  const float beta = *static_cast<const float*>(of.beta);
  ASSERT_EQ(batch, 1);
  ASSERT_FALSE(shape.transposed[0] || shape.transposed[1]);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a[i * shape.leading[0] + l] * b[l * shape.leading[1] + j];
      float& target = c[i * shape.leading[2] + j];
      target = alpha * sum + (beta == 0 ? 0 : beta * target);
    }
  }
}

/// What the library fuses: a bias along the columns.
void finish(const key_type& key, const gemm_plan_operands& of) {
  const auto [m, n, k, batch] = key.shape.extents;
  EXPECT_EQ(of.bias != nullptr, key.epilogue.bias_alignment != 0);
  auto* const c = static_cast<float*>(of.c);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float& entry = c[i * key.shape.leading[2] + j];
      if (of.bias != nullptr) entry += static_cast<const float*>(of.bias)[j];
    }
  }
}

class made_up_clock final : public device_clock {
 public:
  void mark(std::size_t which) override { marks_[which] = played.now; }
  double seconds_between(std::size_t from, std::size_t to) override {
    ++played.waits;
    return marks_[to] - marks_[from];
  }

 private:
  double marks_[2] = {};
};

struct made_up_workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

struct made_up_plan {
  made_up_plan(const key_type& of, int, std::size_t) : key(of) {
    ++played.plans_made;
    if (of.epilogue != gemm_plan_epilogue{} && !played.fuses) return;
    for (int i = 0; i < std::min(of.most_algorithms, static_cast<int>(played.seconds.size())); ++i) {
      proposals.push_back(i);
    }
  }
  const std::vector<int>& algorithms() const { return proposals; }
  void run(int, int algorithm, const gemm_plan_operands& of, const made_up_workspace&, int) {
    played.runs.push_back(algorithm);
    const double seconds = played.seconds[static_cast<std::size_t>(algorithm)];
    if (seconds == infinite) throw backend_error("refused");
    played.now += seconds;
    multiply(key.shape, of);
    finish(key, of);
  }

  key_type key;
  std::vector<int> proposals;
  std::optional<std::size_t> fastest;
};

class made_up_plans {
 public:
  int handle() const { return 0; }
  made_up_plan& find(const key_type& key, std::size_t bytes) { return plans_.find(key, handle(), bytes); }

 private:
  recent_plans<made_up_plan> plans_;
};

/// Counts the calls for which a device is current.
struct made_up_device {
  made_up_device() { ++played.devices_current; }
  ~made_up_device() { --played.devices_current; }
  made_up_device(const made_up_device&) = delete;
  made_up_device& operator=(const made_up_device&) = delete;
};

struct made_up_library {
  using execution_space = host;
  using types = gemm_library_types<type_name, sum_name>;
  using workspace = made_up_workspace;
  using plan = made_up_plan;
  using plans = made_up_plans;

  static constexpr type_name f32 = type_name::f32;

  template <class T>
  static std::optional<types> types_of(gemm_mode, std::string&) {
    return types{type_name::f32, type_name::f32, sum_name::f32};
  }
  static made_up_workspace& workspace_of(context<host>& ctx) {
    return ctx.attachment<made_up_workspace>([] { return made_up_workspace(); });
  }
  static int stream_of(const host&) { return 0; }
  static bool is_captured(const host&) { return played.captured; }
  static std::unique_ptr<device_clock> make_clock(const host&, std::size_t) {
    return std::make_unique<made_up_clock>();
  }
  static made_up_device make_current(const host&) { return made_up_device(); }
  template <class T>
  static void run_otherwise(context<host>& ctx, const blas_form<T>& form) {
    if (played.otherwise_refuses) throw unsupported_error("no such product");
    played.runs.push_back(-1);
    played.now += played.otherwise_seconds;
    multiply(plan_shape_of(form),
             {&form.problem.alpha, form.problem.a.data, form.problem.b.data, &form.problem.beta, form.problem.c.data});
    complete_product(ctx, form.problem, form.problem.c.data);
  }
};

class planned_gemm : public testing::Test {
 protected:
  planned_gemm() { played = {}; }

  gemm_problem<float> problem(float beta) {
    gemm_problem<float> result;
    result.m = result.n = result.k = 2;
    result.beta = beta;
    result.a = {a.data(), 2, 1, 0};
    result.b = {b.data(), 2, 1, 0};
    result.c = {c.data(), 2, 1, 0};
    return result;
  }
  static blas_form<float> form_of(const gemm_problem<float>& problem) {
    blas_form<float> form;
    EXPECT_EQ(to_blas_form(problem, form), "");
    return form;
  }
  void run_first(float beta) { run_first_proposal<made_up_library>(ctx, form_of(problem(beta))); }
  void run_tuned(float beta) { run_fastest<made_up_library>(ctx, form_of(problem(beta))); }

  context<host> ctx;
  std::vector<float> a{1, 2, 3, 4};
  std::vector<float> b{5, 6, 7, 8};
  std::vector<float> c{100, 200, 300, 400};
};

TEST_F(planned_gemm, first_proposal_is_taken_and_asked_for_once) {
  played.seconds = {3, 1};
  run_first(0);
  run_first(0);
  EXPECT_THAT(played.runs, ElementsAre(0, 0));
  EXPECT_EQ(played.plans_made, 1);
  EXPECT_THAT(c, ElementsAre(19, 22, 43, 50));
}

TEST_F(planned_gemm, without_a_proposal_the_other_library_computes) {
  run_first(1);
  EXPECT_THAT(played.runs, ElementsAre(-1));
  EXPECT_THAT(c, ElementsAre(119, 222, 343, 450));
}

TEST_F(planned_gemm, tuned_takes_the_fastest_and_measures_once) {
  played.seconds = {3, infinite, 2, 4};
  played.otherwise_seconds = 5;
  run_tuned(0);
  EXPECT_EQ(played.runs.back(), 2);
  EXPECT_THAT(c, ElementsAre(19, 22, 43, 50));
  played.runs.clear();
  run_tuned(0);
  EXPECT_THAT(played.runs, ElementsAre(2));
}

TEST_F(planned_gemm, tuned_does_without_the_other_library) {
  played.seconds = {3, 2};
  played.otherwise_refuses = true;
  run_tuned(0);
  EXPECT_EQ(played.runs.back(), 1);
  EXPECT_THAT(c, ElementsAre(19, 22, 43, 50));
}

TEST_F(planned_gemm, without_any_library_it_is_refused) {
  played.otherwise_refuses = true;
  EXPECT_THROW(run_first(0), unsupported_error);
  EXPECT_THROW(run_tuned(0), unsupported_error);
}

TEST_F(planned_gemm, tuned_takes_the_other_library_where_that_is_faster) {
  played.seconds = {3, 2};
  played.otherwise_seconds = 1;
  run_tuned(0);
  EXPECT_EQ(played.runs.back(), -1);
  played.runs.clear();
  played.seconds.clear();
  gemm_problem<float> other = problem(0);
  other.alpha = 2;
  other.k = 1;
  run_fastest<made_up_library>(ctx, form_of(other));  // no proposal at all
  EXPECT_THAT(played.runs, testing::Each(-1));
  EXPECT_THAT(c, ElementsAre(10, 12, 30, 36));
}

TEST_F(planned_gemm, small_products_are_waited_for_once_in_ten_calls) {
  played.seconds = {1e-6};
  played.otherwise_seconds = 2e-6;
  run_tuned(0);
  EXPECT_EQ(played.waits, 2 * (1 + 5));                       // both are tried once, and then in five rounds
  EXPECT_EQ(std::ranges::count(played.runs, 0), 2 + 50 + 1);  // one call warms up, and the last one is the product
  EXPECT_EQ(std::ranges::count(played.runs, -1), 2 + 50);
}

TEST_F(planned_gemm, trials_leave_c_alone) {
  played.seconds = {2, 1};
  run_tuned(1);
  EXPECT_GT(played.runs.size(), 3u);
  EXPECT_THAT(c, ElementsAre(119, 222, 343, 450));
}

/// The epilogue of all that follows: bias (-20, 3) along the columns.
class planned_gemm_with_epilogue : public planned_gemm {
 protected:
  blas_form<float> form(float beta = 0) {
    gemm_problem<float> with_bias = problem(beta);
    with_bias.has_bias = true;
    with_bias.bias = {bias.data(), 0, 1, 0};
    return form_of(with_bias);
  }

  std::vector<float> bias{-20, 3};
};

TEST_F(planned_gemm_with_epilogue, is_fused_where_the_library_proposes_something_for_it) {
  played.seconds = {1};
  run_first_proposal<made_up_library>(ctx, form());
  EXPECT_THAT(played.runs, ElementsAre(0));
  EXPECT_EQ(played.plans_made, 1);
  EXPECT_THAT(c, ElementsAre(-1, 25, 23, 53));
}

TEST_F(planned_gemm_with_epilogue, follows_the_product_where_the_library_has_nothing) {
  played.seconds = {1};
  played.fuses = false;
  run_first_proposal<made_up_library>(ctx, form());
  EXPECT_THAT(played.runs, ElementsAre(0));
  EXPECT_EQ(played.plans_made, 2);
  EXPECT_THAT(c, ElementsAre(-1, 25, 23, 53));
}

TEST_F(planned_gemm_with_epilogue, follows_the_other_library) {
  run_first_proposal<made_up_library>(ctx, form(1));
  EXPECT_THAT(played.runs, ElementsAre(-1));
  EXPECT_THAT(c, ElementsAre(99, 225, 323, 453));
}

TEST_F(planned_gemm_with_epilogue, is_part_of_the_trials) {
  played.seconds = {2, 1};
  run_fastest<made_up_library>(ctx, form(1));
  EXPECT_EQ(played.runs.back(), 1);
  EXPECT_THAT(c, ElementsAre(99, 225, 323, 453));
}

TEST_F(planned_gemm_with_epilogue, is_not_fused_where_the_library_means_something_else) {
  played.seconds = {1};
  gemm_problem<float> along_rows = problem(0);
  along_rows.has_bias = true;
  along_rows.bias = {bias.data(), 1, 0, 0};
  run_first_proposal<made_up_library>(ctx, form_of(along_rows));
  EXPECT_THAT(c, ElementsAre(-1, 2, 46, 53));
  along_rows.c = {c.data(), 1, 2, 0};  // of a column-major C the library computes the transposed product
  EXPECT_TRUE(can_fuse_epilogue(form_of(along_rows).problem));
  gemm_problem<float> relu = problem(0);
  relu.activation = activation_function::relu;
  EXPECT_FALSE(can_fuse_epilogue(relu));  // the library's relu may make 0 of a NaN
  gemm_problem<f16> narrow;
  narrow.has_bias = true;
  narrow.bias = {nullptr, 0, 1, 0};
  EXPECT_FALSE(can_fuse_epilogue(narrow));  // libraries round the product before they add the bias
}

TEST_F(planned_gemm, nothing_is_measured_while_calls_are_captured) {
  played.seconds = {2, 1};
  played.captured = true;
  run_tuned(0);
  EXPECT_THAT(played.runs, ElementsAre(0));
  played.captured = false;
  run_tuned(0);
  played.captured = true;
  played.runs.clear();
  run_tuned(0);
  EXPECT_THAT(played.runs, ElementsAre(1));
}

TEST(find_fastest, lets_the_best_few_run_again) {
  // The last one was lucky once.
  const std::vector<double> lasting{0.9, 0.3, 0.7, 0.2, 0.5, 0.6, 0.8, 0.4};
  std::vector<std::vector<int>> asked(lasting.size());
  const std::size_t found = find_fastest(lasting.size(), [&](std::size_t which, int warm_ups, int times) {
    asked[which].push_back(times);
    return which == 7 && warm_ups == 1 ? 1e-3 : lasting[which];
  });
  EXPECT_EQ(found, 3u);
  EXPECT_THAT(asked[7], ElementsAre(1, 40));  // 0.2 s are shared by five
  EXPECT_THAT(asked[3], ElementsAre(1, 2));
  EXPECT_THAT(asked[0], ElementsAre(1));
}

TEST(find_fastest, takes_times_of_zero_and_of_no_end) {
  constexpr double refused = std::numeric_limits<double>::infinity();
  std::vector<std::vector<int>> asked(2);
  const std::size_t found = find_fastest(2, [&](std::size_t which, int, int times) {
    asked[which].push_back(times);
    return which == 0 ? refused : 0.0;
  });
  EXPECT_EQ(found, 1u);
  EXPECT_THAT(asked[0], ElementsAre(1, 2));
  EXPECT_THAT(asked[1], ElementsAre(1, 50));  // as often as any
}

TEST(recent_plans, forget_the_oldest) {
  played = {};
  recent_plans<made_up_plan> plans;
  const auto key_of = [](std::int64_t m) {
    key_type key{};
    key.shape.extents[0] = m;
    return key;
  };
  constexpr auto most = static_cast<std::int64_t>(recent_plans<made_up_plan>::most_plans);
  for (std::int64_t m = 0; m < most; ++m) plans.find(key_of(m), 0, std::size_t{0});
  plans.find(key_of(0), 0, std::size_t{0});     // used again
  plans.find(key_of(most), 0, std::size_t{0});  // takes the place of 1
  EXPECT_EQ(played.plans_made, most + 1);
  plans.find(key_of(0), 0, std::size_t{0});
  EXPECT_EQ(played.plans_made, most + 1);
  plans.find(key_of(1), 0, std::size_t{0});
  EXPECT_EQ(played.plans_made, most + 2);
}

}  // namespace
}  // namespace prumo::backend
