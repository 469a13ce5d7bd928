// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Losses of classifiers: in one pass over the scores the gradient, the sum of the loss, and how many are right.
///
/// All three functions take the same arguments. Let n be the number of rows, t(i, c) = 1 if c is the label of row i and
/// else 0.
///
/// - scores: [n x classes], f32, f64, f16 or bf16, of any layout and strides; at least one class if there are rows.
/// - labels: [n], of i32, i64 or u8, each in [0, classes). A kernel cannot throw: of any other label the row's gradient
///   and its loss become NaN, and the row counts as wrong.
/// - gradient: [n x classes], of the type of the scores. It may be the scores' own array. Any other overlap is refused.
/// - sums: f64 [2]. The loss of all rows is added to the first number, and the number of rows that are right to the
///   second one. A row is right if its label has the first of the largest scores and no score is NaN.
///
/// A row's loss and gradient are computed in the compute type. The losses of rows are added up in f64, in an order that
/// follows from the extents alone: the results have the same bits on every run and for any number of threads.
///
/// The context lends memory for sums of parts: 16 bytes for each of 65536 parts at most. Asynchronous. Throws
/// argument_error, shape_error and alias_error.

#include <prumo/array_ref.hpp>
#include <prumo/context_ref.hpp>
#include <prumo/detail/view_assertions.hpp>

#include <cstdint>
#include <type_traits>

namespace prumo {

struct loss_options {
  /// The gradient is multiplied by it: 1/n makes the gradient that of the mean over the rows. It is rounded to the
  /// compute type. The loss that is added to the sums is not scaled.
  double scale = 1;
};

/// The static assertions of the losses.
#define PRUMO_ASSERT_LOSS(operation, Context, Scores, Labels, Gradient, Sums)                                   \
  PRUMO_ASSERT_KEPT_CONTEXT(operation, Context, Scores, Labels, Gradient, Sums);                                \
  static_assert(::prumo::detail::have_rank<2, Scores, Gradient> && ::prumo::detail::have_rank<1, Labels, Sums>, \
                operation ": scores and gradient are matrices, labels and sums are vectors");                   \
  static_assert(::prumo::detail::have_one_scalar_type<Scores, Gradient>, operation                              \
                ": scores and gradient differ in value type, or it is not float, double, prumo::f16 or "        \
                "prumo::bf16");                                                                                 \
  static_assert(::prumo::detail::is_writable<Gradient>() && ::prumo::detail::is_writable<Sums>(),               \
                operation ": gradient or sums is const")

/// The cross-entropy of the softmax of the scores: with p(i, c) = exp(s(i, c)) / sum_c exp(s(i, c)), the loss of row i
/// is -log p(i, label), and its gradient is (p - t) scale.
///
/// The maximum of the row is subtracted first. A row becomes NaN if it has NaN or +infinity, or only -infinity.
void softmax_cross_entropy(context_ref ctx, const array_ref& scores, const array_ref& labels, const array_ref& gradient,
                           const array_ref& sums, const loss_options& options = {});
template <class Context, class Scores, class Labels, class Gradient, class Sums>
void softmax_cross_entropy(Context&& ctx, const Scores& scores, const Labels& labels, const Gradient& gradient,
                           const Sums& sums, const loss_options& options = {}) {
  PRUMO_ASSERT_LOSS("prumo::softmax_cross_entropy", Context, Scores, Labels, Gradient, Sums);
  softmax_cross_entropy(context_ref(ctx), array_ref(scores), array_ref(labels), array_ref(gradient), array_ref(sums),
                        options);
}

/// The cross-entropy of the sigmoid of each score: the loss of row i is the sum over c of
/// log(1 + exp(s(i, c))) - t(i, c) s(i, c), and its gradient is (sigmoid(s) - t) scale.
///
/// No step overflows or cancels, because only exp(-|s|) is computed, and the score of the label enters with its sign
/// turned: log(1 + exp(s)) - s = log(1 + exp(-s)), and sigmoid(s) - 1 = -sigmoid(-s).
void sigmoid_cross_entropy(context_ref ctx, const array_ref& scores, const array_ref& labels, const array_ref& gradient,
                           const array_ref& sums, const loss_options& options = {});
template <class Context, class Scores, class Labels, class Gradient, class Sums>
void sigmoid_cross_entropy(Context&& ctx, const Scores& scores, const Labels& labels, const Gradient& gradient,
                           const Sums& sums, const loss_options& options = {}) {
  PRUMO_ASSERT_LOSS("prumo::sigmoid_cross_entropy", Context, Scores, Labels, Gradient, Sums);
  sigmoid_cross_entropy(context_ref(ctx), array_ref(scores), array_ref(labels), array_ref(gradient), array_ref(sums),
                        options);
}

/// Half of the squared error: the loss of row i is the sum over c of (s(i, c) - t(i, c))^2 / 2, and its gradient is
/// (s - t) scale. Here the scores are the results of a net, whatever its last function is.
void squared_error(context_ref ctx, const array_ref& scores, const array_ref& labels, const array_ref& gradient,
                   const array_ref& sums, const loss_options& options = {});
template <class Context, class Scores, class Labels, class Gradient, class Sums>
void squared_error(Context&& ctx, const Scores& scores, const Labels& labels, const Gradient& gradient,
                   const Sums& sums, const loss_options& options = {}) {
  PRUMO_ASSERT_LOSS("prumo::squared_error", Context, Scores, Labels, Gradient, Sums);
  squared_error(context_ref(ctx), array_ref(scores), array_ref(labels), array_ref(gradient), array_ref(sums), options);
}

}  // namespace prumo
