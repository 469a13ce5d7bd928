// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The images of a team's steps, in order. Those that come next are on their way while the team computes.

#include "step_body.hpp"
#include "step_loop_parts.hpp"

#include <cstdint>

namespace prumo::nets {

/// Images that a team takes together, in its scratch memory or as a stage (step_stages.hpp): some of a group.
struct image_chunk {
  int step = 0;  ///< of the launch
  int group = 0;
  int first = 0;  ///< of the step
  int count = 0;  ///< 0: there are no more
  int end = 0;    ///< of the group, among the images of the step
};

/// The order of such chunks.
template <class Team, class C>
class image_chunks {
 public:
  PRUMO_STEP_FUNCTION image_chunks(const step_table& table, const step_data<C>& data, step_league league)
      : table_(table), data_(data), league_(league) {}

  /// The place in the order of this launch.
  PRUMO_STEP_FUNCTION std::int64_t place_of(const image_chunk& chunk) const {
    return chunk.step * table_.batch + chunk.first;
  }

  /// The first images of a group, or of the next one that has any. A team may have no group at all.
  PRUMO_STEP_FUNCTION image_chunk from(int step, int group) const {
    if (league_.rank >= table_.groups) return {};
    PRUMO_KEEP_LOOP
    for (;;) {
      if (group >= table_.groups) {
        group = league_.rank;
        ++step;
      }
      if (step >= data_.steps) return {};
      const std::int64_t images = data_.images_of_step(data_.first_step + step, table_.batch);
      const auto first = static_cast<int>(table_.group_begin(group, images));
      const auto end = static_cast<int>(table_.group_begin(group + 1, images));
      if (end > first) return {step, group, first, at_once(end - first), end};
      group += league_.size;
    }
  }

  PRUMO_STEP_FUNCTION image_chunk after(const image_chunk& chunk) const {
    if (chunk.count == 0) return {};
    const int first = chunk.first + chunk.count;
    if (first >= chunk.end) return from(chunk.step, chunk.group + league_.size);
    return {chunk.step, chunk.group, first, at_once(chunk.end - first), chunk.end};
  }

 private:
  PRUMO_STEP_FUNCTION int at_once(int left) const {
    const int most = Team::shape == step_shape::staged ? table_.images_of_a_stage : table_.images_at_once;
    return left < most ? left : most;
  }

  const step_table& table_;
  const step_data<C>& data_;
  step_league league_;
};

/// What a thread has loaded of the images that come next.
struct loaded_images {
  unsigned words[held_words] = {};
  unsigned label = 0;   ///< of the next image with the number of this thread
  int image_after = 0;  ///< the same of the images after the next ones
};

template <class Team, class C>
class images_ahead {
 public:
  using body_type = step_body<Team, C>;
  using loaded_type = loaded_images;

  PRUMO_STEP_FUNCTION explicit images_ahead(step_league league) : league_(league) {}

  /// Puts the first images into scratch memory. A barrier must follow.
  PRUMO_STEP_FUNCTION void begin(const body_type& body) {
    if (league_.rank >= body.table().groups) return;
    const image_chunk now = chunks(body).from(0, league_.rank);
    next_ = chunks(body).after(now);
    body.gather(chunks(body).place_of(now), now.count);
    if constexpr (Team::lanes > 1) {
      if (body.team().rank() < next_.count) {
        body.scratch().next_images()[body.team().rank()] =
            body.data().order[chunks(body).place_of(next_) + body.team().rank()];
      }
    }
  }

  /// Begins to load the images that come next. They stay in registers until stage(), so little should lie between.
  PRUMO_STEP_FUNCTION void load(const body_type& body, loaded_images& loaded) {
    if constexpr (Team::lanes > 1) {
      const step_data<C>& data = body.data();
      const int* const images = body.scratch().next_images();
      const item_grid grid = body.table().layer[0].x_items;
      const int words = body.table().pixels / pixels_of_word, rank = rank_of(body), size = body.team().size();
      if (holds(body, next_)) {
        PRUMO_UNROLL
        for (int i = 0; i < held_words; ++i) {
          const int item = i * size + rank;
          if (item >= next_.count * words) break;
          const int image = item_place(item * pixels_of_word, grid).image;
          const int word = item - image * words;
          loaded.words[i] = reinterpret_cast<const unsigned*>(data.pixels)[std::int64_t{images[image]} * words + word];
        }
      }
      if (rank < next_.count) loaded.label = data.labels[images[rank]];
      after_ = chunks(body).after(next_);
      if (rank < after_.count) loaded.image_after = data.order[chunks(body).place_of(after_) + rank];
    } else {
      after_ = chunks(body).after(next_);
      if constexpr (Team::takes_vectors) {
        const step_data<C>& data = body.data();
        for (int image = 0; image < next_.count; ++image) {
          const std::int64_t which = data.order[chunks(body).place_of(next_) + image];
          ask_for_image(body.team(), data.pixels + which * body.table().pixels, body.table().pixels);
        }
      }
    }
  }

  /// Where load() may lay them.
  PRUMO_STEP_FUNCTION loaded_images& held() { return held_; }

  /// Lays what has been loaded into scratch memory as bytes. A barrier must lie between load() and this.
  PRUMO_STEP_FUNCTION void stage(const body_type& body, const loaded_images& loaded) {
    if constexpr (Team::lanes > 1) {
      const step_scratch<C>& scratch = body.scratch();
      const int items = next_.count * (body.table().pixels / pixels_of_word);
      const int rank = rank_of(body), size = body.team().size();
      if (holds(body, next_)) {
        auto* const to = reinterpret_cast<unsigned*>(scratch.next_bytes());
        PRUMO_UNROLL
        for (int i = 0; i < held_words; ++i) {
          const int item = i * size + rank;
          if (item < items) to[item] = loaded.words[i];
        }
      }
      if (rank < next_.count) scratch.next_labels()[rank] = static_cast<int>(loaded.label);
      if (rank < after_.count) scratch.next_images()[rank] = loaded.image_after;
    }
  }

  /// Makes numbers of them, where the images before are done with. A barrier must follow.
  PRUMO_STEP_FUNCTION void put(const body_type& body) {
    if (!holds(body, next_)) {
      body.gather(chunks(body).place_of(next_), next_.count);
    } else {
      const step_scratch<C>& scratch = body.scratch();
      const step_layer& first = body.table().layer[0];
      const int elements = body.table().image_elements, items = next_.count * body.table().pixels;
      const item_grid grid = first.x_items;
      const int rank = body.team().rank(), size = body.team().size();
      C* const memory = scratch.memory();
      const std::uint8_t* const bytes = scratch.next_bytes();
      PRUMO_KEEP_LOOP
      for (int item = rank; item < items; item += size) {
        const item_place at(item, grid);
        put_pixel(first, memory + at.image * elements, at, bytes[item]);
      }
      if (rank < next_.count) scratch.labels()[rank] = scratch.next_labels()[rank];
    }
    next_ = after_;
  }

 private:
  /// The last threads load the first images, because the first ones have the losses.
  PRUMO_STEP_FUNCTION static int rank_of(const body_type& body) { return body.team().size() - 1 - body.team().rank(); }

  PRUMO_STEP_FUNCTION static bool holds(const body_type& body, const image_chunk& chunk) {
    const int bytes = chunk.count * body.table().pixels;
    return Team::lanes > 1 && bytes <= body.table().bytes_ahead &&
           bytes <= held_words * pixels_of_word * body.team().size();
  }

  PRUMO_STEP_FUNCTION image_chunks<Team, C> chunks(const body_type& body) const {
    return {body.table(), body.data(), league_};
  }

  step_league league_;
  image_chunk next_, after_;
  loaded_images held_;
};

}  // namespace prumo::nets
