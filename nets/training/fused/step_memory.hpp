// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a training step brings to a team's scratch memory, and what it takes from there: the table, copies of
/// parameters, images, and the sums of a group of them.

#include "layers/step_team.hpp"
#include "plan/step_scratch.hpp"

#include <cstdint>

namespace prumo::nets {

/// Pixels of one image become numbers. (A team of several threads takes them one by one, as they are loaded.)
template <scalar_step_team Team, class C>
PRUMO_STEP_FUNCTION void put_image(const Team& team, const step_layer& it, C* image, const std::uint8_t* pixels) {
  for (int pixel = team.rank(); pixel < it.in_size(); pixel += team.size()) {
    put_pixel(it, image, item_place(pixel, it.x_items), pixels[pixel]);
  }
}

/// The scratch memory of a team in a step.
template <class Team, class C>
class step_memory {
 public:
  PRUMO_STEP_FUNCTION step_memory(const Team& team, const step_data<C>& data, const step_scratch<C>& scratch)
      : team_(team), data_(data), scratch_(scratch) {}

  /// The table. Ends with a barrier.
  PRUMO_STEP_FUNCTION void copy_table() const {
    const auto* const from = reinterpret_cast<const int*>(data_.table);
    auto* const to = reinterpret_cast<int*>(&scratch_.table());
    for (int i = team_.rank(); i < static_cast<int>(sizeof(step_table) / sizeof(int)); i += team_.size())
      to[i] = from[i];
    team_.barrier();
  }

  /// Before the first images: the table, and zeros for the edges of planes. Ends with a barrier.
  PRUMO_STEP_FUNCTION void begin() const {
    copy_table();
    const int elements = table().images_at_once * table().image_elements;
    C* const memory = scratch_.memory();
    for (int i = team_.rank(); i < elements; i += team_.size()) memory[i] = 0;
    team_.barrier();
  }

  /// Copies parameters to scratch memory, and zeros to the gaps between them. A barrier must follow.
  PRUMO_STEP_FUNCTION void copy_parameters() const {
    // The memory of a device is far away, so several are under way.
    constexpr int at_once = Team::lanes == 1 ? 1 : has_many_weights(Team::shape) ? 16 : 8;
    const int copies = table().copies;
    C* const to = scratch_.copies();
    for (int first = team_.rank(); first < copies; first += at_once * team_.size()) {
      parameter_copy copy[at_once];
      C values[at_once];
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        const int i = first + k * team_.size();
        copy[k] = i < copies ? data_.copies[i] : parameter_copy{-1, -1};
      }
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) values[k] = copy[k].parameter >= 0 ? data_.weights[copy[k].parameter] : C(0);
      PRUMO_UNROLL
      for (int k = 0; k < at_once; ++k) {
        if (copy[k].place >= 0) to[copy[k].place] = values[k];
      }
    }
  }

  /// Before the images of a group. A barrier must follow.
  PRUMO_STEP_FUNCTION void begin_group() const {
    // Teams that take windows have these sums in registers.
    const int count = Team::shape == step_shape::windows ? 0 : table().gradients;
    C* const gradients = scratch_.gradients();
    for (int i = team_.rank(); i < count; i += team_.size()) gradients[i] = 0;
    if (team_.rank() == 0) scratch_.sums()[0] = scratch_.sums()[1] = 0;
  }

  /// After the images of a group: its sums in memory. Ends with a barrier.
  PRUMO_STEP_FUNCTION void end_group(int group) const {
    team_.barrier();
    const int count = table().gradients;
    const C* const gradients = scratch_.gradients();
    C* const partials = data_.partials + static_cast<std::int64_t>(group) * count;
    for (int i = team_.rank(); i < count; i += team_.size()) partials[i] = gradients[i];
    for (int i = team_.rank(); i < 2; i += team_.size()) data_.sums[2 * group + i] = scratch_.sums()[i];
    team_.barrier();
  }

  /// Images become numbers.
  PRUMO_STEP_FUNCTION void gather(std::int64_t place, int count) const {
    const step_layer& first = table().layer[0];
    C* const memory = scratch_.memory();
    if constexpr (Team::lanes == 1) {
      for (int image = 0; image < count; ++image) {
        put_image(team_, first, memory + image * table().image_elements,
                  data_.pixels + std::int64_t{data_.order[place + image]} * table().pixels);
      }
    } else {
      const int pixels = table().pixels, elements = table().image_elements;
      for (int item = team_.rank(); item < count * pixels; item += team_.size()) {
        const item_place at(item, first.x_items);
        const int pixel = item - at.image * pixels;
        put_pixel(first, memory + at.image * elements, at,
                  data_.pixels[std::int64_t{data_.order[place + at.image]} * pixels + pixel]);
      }
    }
    int* const labels = scratch_.labels();
    for (int image = team_.rank(); image < count; image += team_.size()) {
      labels[image] = data_.labels[data_.order[place + image]];
    }
  }

  PRUMO_STEP_FUNCTION const step_table& table() const { return scratch_.table(); }
  PRUMO_STEP_FUNCTION const step_scratch<C>& scratch() const { return scratch_; }
  PRUMO_STEP_FUNCTION const step_data<C>& data() const { return data_; }
  PRUMO_STEP_FUNCTION const Team& team() const { return team_; }

 protected:
  const Team& team_;
  const step_data<C>& data_;
  step_scratch<C> scratch_;
};

}  // namespace prumo::nets
