// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Dense layers of a step whose rows of weights begin at multiples of 16 bytes, for teams that have one or two images
/// at once. All weights come from memory for each image, so as many packs of them as registers hold are under way
/// together.

#include "convolution_tiles.hpp"

namespace prumo::nets {

/// Most images that the functions of this file take.
inline constexpr int most_single_images = 2;

/// Outputs whose sums a stretch has at once, and packs of each row that are under way together.
inline constexpr int single_outputs = 8, single_packs = 2;

/// Packs of weights that a thread has under way on the way back.
inline constexpr int single_slopes = 12;

/// y of a dense layer: a stretch of threads for a few outputs. Lanes take packs of inputs.
template <int Images, class Team, class C>
PRUMO_STEP_FUNCTION void multiply_single(const Team& team, const step_layer& it, const step_images<C>& images,
                                         const C* weights, const C* bias) {
  constexpr int elements = prumo::detail::device_pack_elements<C>;
  using pack = prumo::detail::device_pack<C>;
  const int inputs = it.in_size(), outputs = it.out_channels, x_begin = it.x.begin, y_begin = it.y.begin;
  constexpr int of_a_round = Team::lanes * elements;
  for (int first_output = team.stretch() * single_outputs; first_output < outputs;
       first_output += team.stretches() * single_outputs) {
    C sum[Images * single_outputs] = {};
    PRUMO_KEEP_LOOP
    for (int input = team.lane() * elements; input < inputs; input += single_packs * of_a_round) {
      pack of_row[single_packs][single_outputs];
      PRUMO_UNROLL
      for (int p = 0; p < single_packs; ++p) {
        const bool is_there = input + p * of_a_round < inputs;
        const C* const from = weights + first_output * inputs + input + p * of_a_round;
        PRUMO_UNROLL
        for (int k = 0; k < single_outputs; ++k) {
          of_row[p][k] = {};
          if (is_there && first_output + k < outputs) of_row[p][k] = *reinterpret_cast<const pack*>(from + k * inputs);
        }
      }
      PRUMO_UNROLL
      for (int p = 0; p < single_packs; ++p) {
        const bool is_there = input + p * of_a_round < inputs;
        PRUMO_UNROLL
        for (int i = 0; i < Images; ++i) {
          pack values = {};
          if (is_there) values = *reinterpret_cast<const pack*>(images.image(i) + x_begin + input + p * of_a_round);
          PRUMO_UNROLL
          for (int k = 0; k < single_outputs; ++k) {
            C& total = sum[i * single_outputs + k];
            PRUMO_UNROLL
            for (int e = 0; e < elements; ++e) total = prumo::fma(of_row[p][k].values[e], values.values[e], total);
          }
        }
      }
    }
    const sums_of_lane mine = share_sums(team, sum, Team::lanes);
    PRUMO_UNROLL
    for (int i = 0; i < (Images * single_outputs + Team::lanes - 1) / Team::lanes; ++i) {
      const int which = mine.first + i, image = which / single_outputs, output = first_output + which % single_outputs;
      // Lanes beyond the sums have one that another lane has, too.
      if (team.lane() < Images * single_outputs && output < outputs) {
        images.image(image)[y_begin + output] =
            activated(it.activate, bias == nullptr ? sum[i] : sum[i] + bias[output]);
      }
    }
  }
}

/// Adds the products of some outputs' slopes and weights to the sums of a pack of inputs. All packs of weights are
/// loaded before the first is used.
/// \param weights,first of the first output
/// \param apart from an output to the next one, of which there are `count` (Whole: as many as are loaded)
template <bool Whole, int Images, class C>
PRUMO_STEP_FUNCTION void add_single_slopes(const C* weights, std::int64_t weights_apart, const C* const (&dy)[Images],
                                           int apart, int count,
                                           C (&sum)[Images][prumo::detail::device_pack_elements<C>]) {
  using pack = prumo::detail::device_pack<C>;
  pack of_output[single_slopes];
  PRUMO_UNROLL
  for (int k = 0; k < single_slopes; ++k) {
    if (!Whole) of_output[k] = {};
    if (Whole || k < count) of_output[k] = *reinterpret_cast<const pack*>(weights + k * weights_apart);
  }
  PRUMO_UNROLL
  for (int k = 0; k < single_slopes; ++k) {
    if (!Whole && k >= count) break;
    PRUMO_UNROLL
    for (int i = 0; i < Images; ++i) {
      const int place = k * apart;
      const C slope = dy[i][place];
      PRUMO_UNROLL
      for (int e = 0; e < prumo::detail::device_pack_elements<C>; ++e) {
        sum[i][e] = prumo::fma(of_output[k].values[e], slope, sum[i][e]);
      }
    }
  }
}

/// Writes x and dy of a dense layer where the gradients of its weights are made, and replaces x by dx times the slope
/// of the activation below. A thread has a pack of inputs, and shares the outputs with the other threads that have it.
/// \param partials room for a pack of each thread
template <int Images, class Team, class C>
PRUMO_STEP_FUNCTION void single_backward(const Team& team, const step_layer& it, const step_images<C>& images,
                                         const C* weights, C* factors, int factor_elements, C* partials) {
  constexpr int elements = prumo::detail::device_pack_elements<C>;
  using pack = prumo::detail::device_pack<C>;
  const int inputs = it.in_size(), outputs = it.out_channels, packs = inputs / elements;
  const int x_begin = it.x.begin, dx_begin = it.dx.begin, dy_begin = it.dy.begin;
  const activation below = it.below;
  for (int item = team.rank(); item < Images * outputs; item += team.size()) {
    const int image = Images == 1 ? 0 : item / outputs, output = item - image * outputs;
    factors[static_cast<std::int64_t>(image) * factor_elements + it.dy_factor + output] =
        images.image(image)[dy_begin + output];
  }
  const int threads = team.size() / Images;  // each has a pack of sums for each image
  PRUMO_KEEP_LOOP
  for (int first_pack = 0; first_pack < packs; first_pack += threads) {
    const int of_block = packs - first_pack < threads ? packs - first_pack : threads;
    const int groups = threads / of_block, group = team.rank() / of_block;
    const int at = team.rank() - group * of_block;
    if (!it.is_first) {
      if (group < groups) {
        C sum[Images][elements] = {};
        const std::int64_t weights_apart = std::int64_t{groups} * inputs;
        const C* dy[Images];
        PRUMO_UNROLL
        for (int i = 0; i < Images; ++i) dy[i] = images.image(i) + dy_begin + group;
        const C* from = weights + (first_pack + at) * elements + group * inputs;
        int left = (outputs - group + groups - 1) / groups;
        PRUMO_KEEP_LOOP
        for (; left >= single_slopes; left -= single_slopes) {
          add_single_slopes<true>(from, weights_apart, dy, groups, left, sum);
          from += single_slopes * weights_apart;
          PRUMO_UNROLL
          for (int i = 0; i < Images; ++i) dy[i] += single_slopes * groups;
        }
        if (left > 0) add_single_slopes<false>(from, weights_apart, dy, groups, left, sum);
        PRUMO_UNROLL
        for (int i = 0; i < Images; ++i) {
          pack total;
          PRUMO_UNROLL
          for (int e = 0; e < elements; ++e) total.values[e] = sum[i][e];
          *reinterpret_cast<pack*>(partials + ((i * groups + group) * of_block + at) * elements) = total;
        }
      }
      team.barrier();
    }
    const int block_inputs = of_block * elements;
    for (int item = team.rank(); item < Images * block_inputs; item += team.size()) {
      const int image = Images == 1 ? 0 : item / block_inputs, in_block = item - image * block_inputs;
      const int input = first_pack * elements + in_block;
      C* const memory = images.image(image);
      const C x = memory[x_begin + input];
      factors[static_cast<std::int64_t>(image) * factor_elements + it.x_factor + input] = x;
      if (it.is_first) continue;
      C total = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
      for (int g = 0; g < groups; ++g) total += partials[(image * groups + g) * block_inputs + in_block];
      memory[dx_begin + input] = total * slope_of(below, x);
    }
    if (first_pack + threads < packs) team.barrier();
  }
}

}  // namespace prumo::nets
