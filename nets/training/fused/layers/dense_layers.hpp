// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Dense layers and the losses of a step.

#include "convolution_tiles.hpp"
#include "loss_terms.hpp"

namespace prumo::nets {

/// Images whose sums a thread has in registers at once: they share each weight that it loads.
inline constexpr int dense_images = 4;

/// Outputs whose sums a stretch has at once for one image: their weights are loaded together.
inline constexpr int dense_outputs = 4;

/// y of a dense layer: a stretch of threads for a few outputs and a few images.
template <int Images, int Outputs, class Team, class C>
PRUMO_STEP_FUNCTION void multiply_dense(const Team& team, const step_layer& from_table, const step_images<C>& images,
                                        const C* weights, const C* bias) {
  const step_layer it = from_table;
  const int inputs = it.in_size(), outputs = it.out_channels;
  const int blocks = (images.count + Images - 1) / Images, rows = (outputs + Outputs - 1) / Outputs;
  for (int task = team.stretch(); task < rows * blocks; task += team.stretches()) {
    const int block = task / rows, first_output = (task - block * rows) * Outputs;
    const C* x[Images];
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const int image = block * Images + i;
      x[i] = images.image(image < images.count ? image : 0) + it.x.begin;
    }
    const C* row[Outputs];
    PRUMO_UNROLL
    for (int k = 0; k < Outputs; ++k) {
      const int output = first_output + k < outputs ? first_output + k : first_output;
      row[k] = weights + static_cast<std::int64_t>(output) * inputs;
    }
    C sum[Images][Outputs] = {};
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int input = team.lane(); input < inputs; input += Team::lanes) {
      C values[Images];
      PRUMO_UNROLL
      for (int i = 0; i < Images; ++i) values[i] = x[i][input];
      PRUMO_UNROLL
      for (int k = 0; k < Outputs; ++k) {
        const C weight = row[k][input];
        PRUMO_UNROLL
        for (int i = 0; i < Images; ++i) sum[i][k] = prumo::fma(weight, values[i], sum[i][k]);
      }
    }
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      PRUMO_UNROLL
      for (int k = 0; k < Outputs; ++k) {
        const C total = sum_of_lanes(team, sum[i][k]);
        const int image = block * Images + i, output = first_output + k;
        if (team.lane() == (i * Outputs + k) % Team::lanes && image < images.count && output < outputs) {
          images.image(image)[it.y.begin + output] =
              activated(it.activate, bias == nullptr ? total : total + bias[output]);
        }
      }
    }
  }
}

template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void multiply_dense(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, const C* bias) {
  const bool has_many_outputs = it.out_channels >= 2 * team.stretches();
  if (images.count == 1) {
    if (has_many_outputs) {
      multiply_dense<1, dense_outputs>(team, it, images, weights, bias);
    } else {
      multiply_dense<1, 1>(team, it, images, weights, bias);
    }
  } else if (has_many_outputs) {
    multiply_dense<2, dense_outputs>(team, it, images, weights, bias);
  } else {
    multiply_dense<dense_images, 1>(team, it, images, weights, bias);
  }
}

/// Writes x and dy of a dense layer where the gradients of its weights are made, and replaces x by dx times the slope
/// of the activation below. A thread has a feature of a few images.
template <int Images, class Team, class C>
PRUMO_STEP_FUNCTION void dense_backward(const Team& team, const step_layer& from_table, const step_images<C>& images,
                                        const C* weights, C* factors, int factor_elements) {
  const step_layer it = from_table;
  const int inputs = it.in_size(), outputs = it.out_channels;
  const int blocks = (images.count + Images - 1) / Images;
  for (int item = team.rank(); item < images.count * outputs; item += team.size()) {
    const int image = item / outputs, output = item - image * outputs;
    factors[static_cast<std::int64_t>(image) * factor_elements + it.dy_factor + output] =
        images.image(image)[it.dy.begin + output];
  }
  for (int item = team.rank(); item < inputs * blocks; item += team.size()) {
    const int block = item / inputs, input = item - block * inputs;
    const C* dy[Images];
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const int image = block * Images + i;
      dy[i] = images.image(image < images.count ? image : 0) + it.dy.begin;
    }
    C sum[Images] = {};
    if (!it.is_first) {
#if defined(__CUDA_ARCH__)
#pragma unroll 16
#endif
      for (int output = 0; output < outputs; ++output) {
        const C weight = weights[static_cast<std::int64_t>(output) * inputs + input];
        PRUMO_UNROLL
        for (int i = 0; i < Images; ++i) sum[i] = prumo::fma(weight, dy[i][output], sum[i]);
      }
    }
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const int image = block * Images + i;
      if (image < images.count) {
        C* const x = images.image(image) + it.x.begin + input;
        factors[static_cast<std::int64_t>(image) * factor_elements + it.x_factor + input] = *x;
        if (!it.is_first) images.image(image)[it.dx.begin + input] = sum[i] * slope_of(it.below, *x);
      }
    }
  }
}

template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void dense_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, C* factors, int factor_elements) {
  if (images.count == 1) {
    dense_backward<1>(team, it, images, weights, factors, factor_elements);
  } else if (images.count == 2) {
    dense_backward<2>(team, it, images, weights, factors, factor_elements);
  } else {
    dense_backward<dense_images>(team, it, images, weights, factors, factor_elements);
  }
}

/// The sum of the exponentials of the distances of an image's scores to the largest one.
template <class Team, class C>
PRUMO_STEP_FUNCTION C sum_of_exponentials(const Team& team, const C* scores, int classes, C largest) {
  C sum = 0;
  for (int i = team.lane(); i < classes; i += Team::lanes) sum += prumo::exp(scores[i] - largest);
  return sum_of_lanes(team, sum);
}

/// The gradients of the scores for `softmax`, times `scale`.
/// \param total sum_of_exponentials()
template <class Team, class C>
PRUMO_STEP_FUNCTION void put_softmax_slopes(const Team& team, const C* scores, C* slopes, int classes, int label,
                                            C largest, C total, C scale) {
  const C factor = scale / total;
  for (int i = team.lane(); i < classes; i += Team::lanes) {
    const C share = prumo::exp(scores[i] - largest) * factor;
    slopes[i] = i == label ? share - scale : share;
  }
}

/// The gradients of the scores (for `squared`: of the results), times `scale`, which may take the place of the scores.
/// The lanes of one stretch call it.
template <class Team, class C>
PRUMO_STEP_FUNCTION void find_loss_slopes(const Team& team, loss which, activation function, const C* scores, C* slopes,
                                          int classes, int label, C scale) {
  if (which == loss::softmax) {
    C largest = scores[0];
    for (int i = team.lane(); i < classes; i += Team::lanes) largest = prumo::maximum(largest, scores[i]);
    largest = largest_of_lanes(team, largest);
    const C total = sum_of_exponentials(team, scores, classes, largest);
    put_softmax_slopes(team, scores, slopes, classes, label, largest, total, scale);
    return;
  }
  for (int i = team.lane(); i < classes; i += Team::lanes) {
    slopes[i] = slope_of_loss(which, function, scores[i], i == label ? C(1) : C(0), scale);
  }
}

/// The loss of an image, and whether its largest score is that of the label. Of equal scores the first one counts as
/// the largest. The gradients of the scores (for `squared`: of the results), times `scale`, go to `slopes`, which may
/// be the place of the scores. The lanes of one stretch call it.
template <class Team, class C>
PRUMO_STEP_FUNCTION void differentiate_loss(const Team& team, loss which, activation function, const C* scores,
                                            C* slopes, int classes, int label, C scale, double& loss_of_image,
                                            int& correct) {
  const C at_label = scores[label];
  int better = 0;
  C largest = at_label;
  for (int i = team.lane(); i < classes; i += Team::lanes) {
    const C score = scores[i];
    if (i < label ? !(score < at_label) : !(score <= at_label)) ++better;
    largest = prumo::maximum(largest, score);
  }
  correct = sum_of_lanes(team, better) == 0 ? 1 : 0;
  if (which == loss::softmax) {
    largest = largest_of_lanes(team, largest);
    const C total = sum_of_exponentials(team, scores, classes, largest);
    put_softmax_slopes(team, scores, slopes, classes, label, largest, total, scale);
    loss_of_image = static_cast<double>(prumo::log(total) - (at_label - largest));
    return;
  }
  C sum = 0;
  for (int i = team.lane(); i < classes; i += Team::lanes) {
    const C score = scores[i], target = i == label ? C(1) : C(0);
    sum += term_of_loss(which, score, target);
    slopes[i] = slope_of_loss(which, function, score, target, scale);
  }
  loss_of_image = static_cast<double>(sum_of_lanes(team, sum));
}

}  // namespace prumo::nets
