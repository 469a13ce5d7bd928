// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cases do not reach: the gradient in the place of the scores, labels of every type and wrong ones, ties and
// NaN, scores that are far apart, sums that go on, refusals.

#include "operation_test.hpp"
#include <prumo/loss.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace prumo {
namespace {

using namespace tests;
using doubles = Kokkos::View<double*, exec>;
template <class T>
using labels_of = Kokkos::View<T*, exec>;

using loss_function = void (*)(context_ref, const array_ref&, const array_ref&, const array_ref&, const array_ref&,
                               const loss_options&);
struct named_loss {
  const char* name;
  loss_function call;
};
const named_loss all_losses[] = {{"prumo::softmax_cross_entropy", softmax_cross_entropy},
                                 {"prumo::sigmoid_cross_entropy", sigmoid_cross_entropy},
                                 {"prumo::squared_error", squared_error}};

template <class T>
labels_of<T> make_labels(const std::vector<std::int64_t>& values) {
  const labels_of<T> result("labels", values.size());
  tests::set_elements(result, [&](std::size_t i) { return static_cast<T>(values[i]); });
  return result;
}

/// The gradient, the loss and the number of right rows.
template <class T>
struct outcome {
  std::vector<compute_t<T>> gradient;
  double loss, correct;
};

template <class T, class Labels>
outcome<T> outcome_of(loss_function call, const std::vector<std::vector<double>>& scores, const Labels& labels,
                      double scale = 1) {
  context<exec> ctx;
  const row_major<T> from("scores", scores.size(), scores[0].size()), to("gradient", scores.size(), scores[0].size());
  tests::set_elements(
      from, [&](std::size_t i, std::size_t c) { return static_cast<T>(static_cast<compute_t<T>>(scores[i][c])); });
  const doubles sums("sums", 2);
  call(context_ref(ctx), from, labels, to, sums, {.scale = scale});
  ctx.fence();
  const auto copy = tests::host_copy(to);
  const auto both = tests::host_copy(sums);
  outcome<T> result{{}, both(0), both(1)};
  tests::for_each_index(to, [&](auto i, auto c) { result.gradient.push_back(static_cast<compute_t<T>>(copy(i, c))); });
  return result;
}

template <class T>
class loss_types : public testing::Test {};
TYPED_TEST_SUITE(loss_types, tests::all_scalars);

/// Classes that take every number of threads of a group, and several rounds.
constexpr std::size_t lengths[] = {1, 2, 10, 33, 130, 600, 1100, 3000};

TYPED_TEST(loss_types, in_place_gives_the_same_bits) {
  context<exec> ctx;
  for (const named_loss& each : all_losses) {
    for (const std::size_t classes : lengths) {
      const row_major<TypeParam> scores("scores", 70, classes), gradient("gradient", 70, classes);
      tests::set_uniform(scores, 1);
      const labels_of<std::int32_t> labels("labels", 70);
      tests::set_elements(labels, [&](std::size_t i) { return static_cast<std::int32_t>(i * 7 % classes); });
      const doubles sums("sums", 2), again("again", 2);
      each.call(context_ref(ctx), scores, labels, gradient, sums, {});
      each.call(context_ref(ctx), scores, labels, scores, again, {});
      ctx.fence();
      const auto there = tests::host_copy(gradient), in_place = tests::host_copy(scores);
      std::int64_t different = 0;
      tests::for_each_index(there, [&](auto r, auto c) { different += there(r, c) != in_place(r, c) ? 1 : 0; });
      EXPECT_EQ(different, 0) << each.name << " " << classes;
      const auto first = tests::host_copy(sums), second = tests::host_copy(again);
      EXPECT_EQ(first(0), second(0)) << each.name << " " << classes;
      EXPECT_EQ(first(1), second(1)) << each.name << " " << classes;
    }
  }
}

TYPED_TEST(loss_types, labels_may_have_any_type) {
  const std::vector<std::vector<double>> scores = {{0.5, -1, 2}, {1, 1, 0}, {-3, 0.25, 0.125}};
  for (const named_loss& each : all_losses) {
    const auto expected = outcome_of<TypeParam>(each.call, scores, make_labels<std::int32_t>({2, 0, 0}));
    EXPECT_EQ(expected.correct, 2) << each.name;
    for (const auto& other : {outcome_of<TypeParam>(each.call, scores, make_labels<std::int64_t>({2, 0, 0})),
                              outcome_of<TypeParam>(each.call, scores, make_labels<std::uint8_t>({2, 0, 0}))}) {
      EXPECT_EQ(other.gradient, expected.gradient) << each.name;
      EXPECT_EQ(other.loss, expected.loss) << each.name;
      EXPECT_EQ(other.correct, expected.correct) << each.name;
    }
  }
}

/// The first of equals counts, and a row with a NaN is wrong.
TYPED_TEST(loss_types, right_is_the_first_of_the_largest) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const named_loss& each : all_losses) {
    const auto correct_of = [&](const std::vector<double>& row, std::int64_t label) {
      return outcome_of<TypeParam>(each.call, {row}, make_labels<std::int32_t>({label})).correct;
    };
    EXPECT_EQ(correct_of({1, 1, 0}, 0), 1) << each.name;
    EXPECT_EQ(correct_of({1, 1, 0}, 1), 0) << each.name;
    EXPECT_EQ(correct_of({0, 1, 1}, 1), 1) << each.name;
    EXPECT_EQ(correct_of({7}, 0), 1) << each.name;
    EXPECT_EQ(correct_of({nan}, 0), 0) << each.name;
    EXPECT_EQ(correct_of({nan, 1}, 1), 0) << each.name;
    EXPECT_EQ(correct_of({1, nan}, 0), 0) << each.name;
    EXPECT_EQ(correct_of({1, nan}, 1), 0) << each.name;
  }
}

TYPED_TEST(loss_types, a_label_that_is_no_class_gives_nan) {
  for (const named_loss& each : all_losses) {
    for (const std::int64_t wrong : {-1, 3, 1000000}) {
      const auto found =
          outcome_of<TypeParam>(each.call, {{1, 2, 3}, {3, 2, 1}}, make_labels<std::int32_t>({wrong, 0}));
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_TRUE(std::isnan(found.gradient[c])) << each.name;
        EXPECT_FALSE(std::isnan(found.gradient[3 + c])) << each.name;
      }
      EXPECT_TRUE(std::isnan(found.loss)) << each.name;
      EXPECT_EQ(found.correct, 1) << each.name;
    }
  }
}

TYPED_TEST(loss_types, softmax_takes_scores_that_are_far_apart) {
  const auto found =
      outcome_of<TypeParam>(softmax_cross_entropy, {{-1024, 1024, 1024, 0}}, make_labels<std::int32_t>({0}), 2);
  EXPECT_EQ(found.gradient[0], -2);
  EXPECT_EQ(found.gradient[1], 1);
  EXPECT_EQ(found.gradient[2], 1);
  EXPECT_EQ(found.gradient[3], 0);
  EXPECT_NEAR(found.loss, 2048 + std::log(2.0), 2e-4);
}

TYPED_TEST(loss_types, softmax_of_rows_with_infinities) {
  using C = compute_t<TypeParam>;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::size_t classes : lengths) {
    if (classes < 3) continue;
    std::vector<double> one(classes), none(classes, -infinity), high(classes);
    one[0] = -infinity;
    high[classes - 1] = infinity;
    const auto found =
        outcome_of<TypeParam>(softmax_cross_entropy, {one, none, high}, make_labels<std::int32_t>({1, 1, 1}));
    EXPECT_EQ(found.gradient[0], C(0)) << classes;
    EXPECT_FALSE(std::isnan(found.gradient[1])) << classes;
    for (std::size_t k = classes; k < 3 * classes; ++k) EXPECT_TRUE(std::isnan(found.gradient[k])) << classes;
    EXPECT_TRUE(std::isnan(found.loss)) << classes;
    EXPECT_EQ(found.correct, 1) << classes;
  }
}

/// Where the net is sure, the loss is small and keeps its digits; where it is wrong, nothing overflows.
TEST(sigmoid_cross_entropy, neither_cancels_nor_overflows) {
  const auto loss_of = [](double score, std::int64_t label) {
    return outcome_of<float>(sigmoid_cross_entropy, {{score, -200}}, make_labels<std::int32_t>({label})).loss;
  };
  EXPECT_NEAR(loss_of(20, 0) / std::log1p(std::exp(-20.0)), 1, 1e-6);
  EXPECT_NEAR(loss_of(-20, 0), 20, 1e-5);
  EXPECT_EQ(loss_of(-200, 1), 200);
  const auto sure = outcome_of<float>(sigmoid_cross_entropy, {{20, -20}}, make_labels<std::int32_t>({0}));
  EXPECT_NEAR(static_cast<double>(sure.gradient[0]) / (-1 / (1 + std::exp(20.0))), 1, 1e-6);
  EXPECT_NEAR(static_cast<double>(sure.gradient[1]) / (1 / (1 + std::exp(20.0))), 1, 1e-6);
}

TEST(squared_error, is_half_the_square) {
  const auto found =
      outcome_of<double>(squared_error, {{0.5, 0.25, 0}, {1, 0, 0}}, make_labels<std::int32_t>({0, 0}), 0.5);
  EXPECT_EQ(found.gradient, (std::vector<double>{-0.25, 0.125, 0, 0, 0, 0}));
  EXPECT_EQ(found.loss, (0.25 + 0.0625) / 2);
  EXPECT_EQ(found.correct, 2);
}

TEST(loss, sums_go_on_from_what_they_are) {
  context<exec> ctx;
  const row_major<float> scores("scores", 5000, 10), gradient("gradient", 5000, 10);
  tests::set_uniform(scores, 1);
  const labels_of<std::int32_t> labels("labels", 5000);
  tests::set_elements(labels, [](std::size_t i) { return static_cast<std::int32_t>(i % 10); });
  for (const named_loss& each : all_losses) {
    const doubles sums("sums", 2);
    double first = 0, correct = 0;
    for (int call = 1; call <= 3; ++call) {
      each.call(context_ref(ctx), scores, labels, gradient, sums, {});
      ctx.fence();
      const auto found = tests::host_copy(sums);
      if (call == 1) {
        first = found(0);
        correct = found(1);
        EXPECT_GT(correct, 300);
        EXPECT_LT(correct, 700);
      }
      EXPECT_NEAR(found(0), call * first, 1e-12 * first) << each.name;
      EXPECT_EQ(found(1), call * correct) << each.name;
    }
  }
}

TEST(loss, refuses_what_does_not_fit) {
  context<exec> ctx;
  const row_major<float> scores("my scores", 6, 4), gradient("my gradient", 6, 4), narrow("narrow", 6, 3),
      empty("empty", 6, 0);
  const labels_of<std::int32_t> labels("my labels", 6), few("few labels", 5);
  const doubles sums("my sums", 2), one("one sum", 1);
  const Kokkos::View<float*, exec> floats("floats", 6);
  for (const named_loss& each : all_losses) {
    const auto message = [&](const array_ref& s, const array_ref& l, const array_ref& g, const array_ref& b,
                             double scale = 1) {
      return tests::message_of<error>([&] { each.call(context_ref(ctx), s, l, g, b, {.scale = scale}); });
    };
    EXPECT_THAT(message(scores, labels, narrow, sums),
                AllOf(StartsWith(std::string(each.name) + ": expected a gradient with the extents of the scores"),
                      HasSubstr("'narrow': f32 [6 x 3]")));
    EXPECT_THAT(message(scores, few, gradient, sums), HasSubstr("a label for each row of the scores"));
    EXPECT_THAT(message(scores, floats, gradient, sums), HasSubstr("labels of i32, i64 or u8"));
    EXPECT_THAT(message(scores, labels, gradient, one), HasSubstr("sums of two numbers of f64"));
    EXPECT_THAT(message(empty, labels, empty, sums), HasSubstr("scores of one class or more"));
    EXPECT_THAT(message(scores, labels, row_major<double>("d", 6, 4), sums), HasSubstr("arrays of the same type"));
    EXPECT_THAT(message(scores, labels, gradient, sums, std::numeric_limits<double>::infinity()),
                HasSubstr("expected a finite scale"));
    EXPECT_THROW(each.call(context_ref(ctx), Kokkos::subview(scores, std::pair{0, 5}, Kokkos::ALL), few,
                           Kokkos::subview(scores, std::pair{1, 6}, Kokkos::ALL), sums, {}),
                 alias_error);
  }
}

TEST(loss, no_rows_are_nothing_to_do) {
  context<exec> ctx;
  const row_major<float> none("none", 0, 4);
  const doubles sums("sums", 2);
  for (const named_loss& each : all_losses) {
    each.call(context_ref(ctx), none, labels_of<std::int32_t>("labels", 0), none, sums, {});
  }
  ctx.fence();
  EXPECT_EQ(tests::host_copy(sums)(0), 0);
}

}  // namespace
}  // namespace prumo
