// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Dense layers of a step whose rows of weights begin at multiples of 16 bytes, for teams that have several images at
/// once. A thread loads packs of weights, and uses each for all of these images.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// Images whose sums a thread has in registers at once: they share each weight that it loads.
inline constexpr int packed_images = 4;
/// The same where a team has more.
inline constexpr int most_packed_images = 8;
/// The same where a layer has few inputs, so that more stretches have work.
inline constexpr int fewest_packed_images = 2;

/// Outputs whose sums a stretch has at once: their weights are loaded together.
inline constexpr int packed_outputs = 8;

/// y of a dense layer: a stretch of threads for a few outputs and a few images. Lanes take packs of inputs.
template <int Images, int Outputs, int Elements, class Team, class C>
PRUMO_STEP_FUNCTION void multiply_packs(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, const C* bias) {
  using pack = prumo::detail::device_pack<C, Elements>;
  const int inputs = it.in_size(), outputs = it.out_channels, x_begin = it.x.begin, y_begin = it.y.begin;
  const activation function = it.activate;
  const int blocks = (images.count + Images - 1) / Images, rows = (outputs + Outputs - 1) / Outputs;
  for (int task = team.stretch(); task < rows * blocks; task += team.stretches()) {
    const int block = task / rows, first_output = (task - block * rows) * Outputs;
    const C* x[Images];
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const int image = block * Images + i;
      x[i] = images.image(image < images.count ? image : 0) + x_begin;
    }
    const C* row[Outputs];
    PRUMO_UNROLL
    for (int k = 0; k < Outputs; ++k) {
      const int output = first_output + k < outputs ? first_output + k : first_output;
      row[k] = weights + output * inputs;
    }
    C sum[Images * Outputs] = {};
    PRUMO_KEEP_LOOP
    for (int input = team.lane() * Elements; input < inputs; input += Team::lanes * Elements) {
      pack of_row[Outputs];
      PRUMO_UNROLL
      for (int k = 0; k < Outputs; ++k) of_row[k] = *reinterpret_cast<const pack*>(row[k] + input);
      PRUMO_UNROLL
      for (int i = 0; i < Images; ++i) {
        const pack values = *reinterpret_cast<const pack*>(x[i] + input);
        PRUMO_UNROLL
        for (int k = 0; k < Outputs; ++k) {
          C& total = sum[i * Outputs + k];
          PRUMO_UNROLL
          for (int e = 0; e < Elements; ++e) total = prumo::fma(of_row[k].values[e], values.values[e], total);
        }
      }
    }
    const sums_of_lane mine = share_sums(team, sum, Team::lanes);
    PRUMO_UNROLL
    for (int i = 0; i < (Images * Outputs + Team::lanes - 1) / Team::lanes; ++i) {
      const int which = mine.first + i;
      const int image = block * Images + which / Outputs, output = first_output + which % Outputs;
      // Lanes beyond the sums have one that another lane has, too.
      if (team.lane() < Images * Outputs && image < images.count && output < outputs) {
        images.image(image)[y_begin + output] = activated(function, bias == nullptr ? sum[i] : sum[i] + bias[output]);
      }
    }
  }
}

template <int Outputs, class Team, class C>
PRUMO_STEP_FUNCTION void multiply_packs(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, const C* bias) {
  constexpr int elements = prumo::detail::device_pack_elements<C>;
  if (images.count <= packed_images) {
    multiply_packs<packed_images, Outputs, elements>(team, it, images, weights, bias);
  } else {
    multiply_packs<most_packed_images, (Outputs + 1) / 2, elements>(team, it, images, weights, bias);
  }
}

/// y of a dense layer whose weights lie in packs.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void multiply_packs(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, const C* bias) {
  if (it.out_channels >= 2 * team.stretches()) {
    multiply_packs<packed_outputs>(team, it, images, weights, bias);
  } else {
    multiply_packs<1>(team, it, images, weights, bias);
  }
}

/// Adds to the sums of dx, [images][elements], of a pack of inputs: the products of every `groups`th pack of outputs.
/// Behind the slopes of a layer there is room for those of a pack.
template <int Images, int Elements, class C>
PRUMO_STEP_FUNCTION void add_slopes(const C* weights, int inputs, int group, int groups, int outputs,
                                    const C* const (&dy)[Images], C (&sum)[Images * Elements]) {
  constexpr int of_a_pack = prumo::detail::device_pack_elements<C>;
  using slope_pack = prumo::detail::device_pack<C, of_a_pack>;
  using pack = prumo::detail::device_pack<C, Elements>;
#if defined(__CUDA_ARCH__)
#pragma unroll 2
#endif
  for (int first = group * of_a_pack; first < outputs; first += groups * of_a_pack) {
    pack of_output[of_a_pack];
    PRUMO_UNROLL
    for (int k = 0; k < of_a_pack; ++k) {
      const int output = first + k < outputs ? first + k : first;
      of_output[k] = *reinterpret_cast<const pack*>(weights + output * inputs);
    }
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const slope_pack slopes = *reinterpret_cast<const slope_pack*>(dy[i] + first);
      PRUMO_UNROLL
      for (int k = 0; k < of_a_pack; ++k) {
        const C slope = first + k < outputs ? slopes.values[k] : C(0);
        PRUMO_UNROLL
        for (int e = 0; e < Elements; ++e) {
          sum[i * Elements + e] = prumo::fma(of_output[k].values[e], slope, sum[i * Elements + e]);
        }
      }
    }
  }
}

/// Writes x and dy of a dense layer where the gradients of its weights are made, and replaces x by dx times the slope
/// of the activation below. A thread has a pack of inputs of a few images. As many lanes as a pack has elements share
/// the outputs, and then the inputs.
template <int Images, int Elements, class Team, class C>
PRUMO_STEP_FUNCTION void packs_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, C* factors, int factor_elements) {
  constexpr int groups = Elements < Team::lanes ? Elements : 1, packs_of_a_stretch = Team::lanes / groups;
  constexpr int count = Images * Elements;
  const int inputs = it.in_size(), outputs = it.out_channels;
  const int x_begin = it.x.begin, dx_begin = it.dx.begin, dy_begin = it.dy.begin;
  const int x_factor = it.x_factor, dy_factor = it.dy_factor;
  const activation below = it.below;
  const bool makes_dx = !it.is_first;
  const int blocks = (images.count + Images - 1) / Images;
  for (int item = team.rank(); item < images.count * outputs; item += team.size()) {
    const int image = item / outputs, output = item - image * outputs;
    factors[static_cast<std::int64_t>(image) * factor_elements + dy_factor + output] =
        images.image(image)[dy_begin + output];
  }
  const int stretches = (inputs / Elements - 1) / packs_of_a_stretch + 1;
  for (int task = team.stretch(); task < stretches * blocks; task += team.stretches()) {
    const int block = task / stretches;
    const int first = ((task - block * stretches) * packs_of_a_stretch + team.lane() % packs_of_a_stretch) * Elements;
    const bool has_pack = first < inputs;
    const C* dy[Images];
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const int image = block * Images + i;
      dy[i] = images.image(image < images.count ? image : 0) + dy_begin;
    }
    C sum[count] = {};
    if (makes_dx) {
      add_slopes<Images, Elements>(weights + (has_pack ? first : 0), inputs, team.lane() / packs_of_a_stretch, groups,
                                   outputs, dy, sum);
    }
    const sums_of_lane mine = share_sums(team, sum, groups, packs_of_a_stretch);
    PRUMO_UNROLL
    for (int i = 0; i < (count + groups - 1) / groups; ++i) {
      const int which = mine.first + i;
      const int image = block * Images + which / Elements, input = first + which % Elements;
      if (has_pack && image < images.count) {
        C* const x = images.image(image) + x_begin + input;
        factors[static_cast<std::int64_t>(image) * factor_elements + x_factor + input] = *x;
        if (makes_dx) images.image(image)[dx_begin + input] = sum[i] * slope_of(below, *x);
      }
    }
  }
}

/// dense_backward() of a layer whose weights lie in packs.
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void packs_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                        const C* weights, C* factors, int factor_elements) {
  constexpr int elements = prumo::detail::device_pack_elements<C>;
  // A stretch has as many inputs as lanes.
  if (4 * it.in_size() <= team.size()) {
    packs_backward<fewest_packed_images, elements>(team, it, images, weights, factors, factor_elements);
  } else if (images.count <= packed_images) {
    packs_backward<packed_images, elements>(team, it, images, weights, factors, factor_elements);
  } else {
    packs_backward<most_packed_images, elements>(team, it, images, weights, factors, factor_elements);
  }
}

}  // namespace prumo::nets
