// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The images of a team's steps, in order. Those that come next are on their way while the team computes.

#include "step_body.hpp"
#include "step_loop_parts.hpp"

#include <cstdint>

namespace prumo::nets {

/// Images that a team has in its scratch memory together: some of a group.
struct image_chunk {
  int step = 0;  ///< of the launch
  int group = 0;
  int first = 0;  ///< of the step
  int count = 0;  ///< 0: there are no more
};

template <class Team, class C>
class images_ahead {
 public:
  PRUMO_STEP_FUNCTION images_ahead(const step_body<Team, C>& body, step_league league) : body_(body), league_(league) {}

  /// Puts the first images into scratch memory. A barrier must follow.
  PRUMO_STEP_FUNCTION void begin() {
    if (league_.rank >= body_.table().groups) return;
    const image_chunk now = chunk_from(0, league_.rank);
    next_ = chunk_after(now);
    body_.gather(place_of(now), now.count);
    if constexpr (Team::lanes > 1) {
      if (body_.team().rank() < next_.count) {
        body_.scratch().next_images[body_.team().rank()] = body_.data().order[place_of(next_) + body_.team().rank()];
      }
    }
  }

  /// Begins to load the images that come next. They stay in registers until stage(), so little should lie between.
  PRUMO_STEP_FUNCTION void load() {
    after_ = chunk_after(next_);
    if constexpr (Team::lanes > 1) {
      const step_data<C>& data = body_.data();
      const int* const images = body_.scratch().next_images;
      const int pixels = body_.table().pixels, rank = body_.team().rank(), size = body_.team().size();
      const item_grid grid = body_.table().layer[0].x_items;
      if (holds(next_)) {
        PRUMO_UNROLL
        for (int i = 0; i < held_pixels; ++i) {
          const int item = i * size + rank;
          if (item >= next_.count * pixels) break;
          const int image = item_place(item, grid).image;
          held_[i] = data.pixels[std::int64_t{images[image]} * pixels + item - image * pixels];
        }
      }
      if (rank < next_.count) label_ = data.labels[images[rank]];
      if (rank < after_.count) image_after_ = data.order[place_of(after_) + rank];
    }
  }

  /// Lays what has been loaded into scratch memory as bytes. A barrier must lie between load() and this.
  PRUMO_STEP_FUNCTION void stage() {
    if constexpr (Team::lanes > 1) {
      const step_scratch<C>& scratch = body_.scratch();
      const int items = next_.count * body_.table().pixels, rank = body_.team().rank(), size = body_.team().size();
      if (holds(next_)) {
        PRUMO_UNROLL
        for (int i = 0; i < held_pixels; ++i) {
          const int item = i * size + rank;
          if (item >= items) break;
          scratch.next_bytes[item] = static_cast<std::uint8_t>(held_[i]);
        }
      }
      if (rank < next_.count) scratch.next_labels[rank] = static_cast<int>(label_);
      if (rank < after_.count) scratch.next_images[rank] = image_after_;
    }
  }

  /// Makes numbers of them, where the images before are done with. A barrier must follow.
  PRUMO_STEP_FUNCTION void put() {
    if (!holds(next_)) {
      body_.gather(place_of(next_), next_.count);
    } else {
      const step_scratch<C>& scratch = body_.scratch();
      const step_layer& first = body_.table().layer[0];
      const int elements = body_.table().image_elements, items = next_.count * body_.table().pixels;
      const item_grid grid = first.x_items;
      const int rank = body_.team().rank(), size = body_.team().size();
      // Each thread takes the bytes that it has laid there itself.
      PRUMO_KEEP_LOOP
      for (int item = rank; item < items; item += size) {
        const item_place at(item, grid);
        put_pixel(first, scratch.memory + at.image * elements, at, scratch.next_bytes[item]);
      }
      if (rank < next_.count) scratch.labels[rank] = scratch.next_labels[rank];
    }
    next_ = after_;
  }

 private:
  PRUMO_STEP_FUNCTION bool holds(const image_chunk& chunk) const {
    const int bytes = chunk.count * body_.table().pixels;
    return Team::lanes > 1 && bytes <= body_.table().bytes_ahead && bytes <= held_pixels * body_.team().size();
  }

  /// The place in the order of this launch.
  PRUMO_STEP_FUNCTION std::int64_t place_of(const image_chunk& chunk) const {
    return chunk.step * body_.table().batch + chunk.first;
  }

  /// The first images of a group, or of the next one that has any.
  PRUMO_STEP_FUNCTION image_chunk chunk_from(int step, int group) const {
    const step_table& table = body_.table();
    PRUMO_KEEP_LOOP
    for (;;) {
      if (group >= table.groups) {
        group = league_.rank;
        ++step;
      }
      if (step >= body_.data().steps) return {};
      const std::int64_t images = body_.data().images_of_step(body_.data().first_step + step, table.batch);
      const auto first = static_cast<int>(table.group_begin(group, images));
      const int count = static_cast<int>(table.group_begin(group + 1, images)) - first;
      if (count > 0) return {step, group, first, count < table.images_at_once ? count : table.images_at_once};
      group += league_.size;
    }
  }

  PRUMO_STEP_FUNCTION image_chunk chunk_after(const image_chunk& chunk) const {
    if (chunk.count == 0) return {};
    const step_table& table = body_.table();
    const std::int64_t images = body_.data().images_of_step(body_.data().first_step + chunk.step, table.batch);
    const int first = chunk.first + chunk.count;
    const int left = static_cast<int>(table.group_begin(chunk.group + 1, images)) - first;
    if (left <= 0) return chunk_from(chunk.step, chunk.group + league_.size);
    return {chunk.step, chunk.group, first, left < table.images_at_once ? left : table.images_at_once};
  }

  const step_body<Team, C>& body_;
  step_league league_;
  image_chunk next_, after_;
  unsigned held_[held_pixels] = {};  ///< bytes, each in a register of its own
  unsigned label_ = 0;               ///< of the next image with the number of this thread
  int image_after_ = 0;              ///< the same of the images after the next ones
};

}  // namespace prumo::nets
