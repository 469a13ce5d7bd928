// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Groups of images that a team takes through a step in stages, because its scratch memory has room for a few of them
/// only: all images forward to the first dense layer, in rounds; all of them through the dense layers and back at once,
/// so that the weights, which lie in memory, are read once; and all of them back to the first layer, in rounds. What a
/// round needs on its way back is kept in memory. The team that writes it reads it, so no team waits for another.

#include "images_ahead.hpp"
#include "layers/staged_dense.hpp"
#include "step_body.hpp"
#include <prumo/detail/device/copy_ahead.hpp>

#include <cstdint>

namespace prumo::nets {

/// Whether a team takes images in stages.
template <class Team>
concept staged_step_team = Team::shape == step_shape::staged;

/// The rounds of a stage. All functions are for all threads of a team.
template <staged_step_team Team, class C>
class step_stages {
 public:
  using body_type = step_body<Team, C>;

  PRUMO_STEP_FUNCTION step_stages(const body_type& body, const image_chunk& now, const image_chunk& next, int parity)
      : body_(body), team_(body.team()), table_(body.table()), now_(now), next_(next), parity_(parity) {}

  /// Begins to copy the numbers of the images of a stage: where they lie in the set.
  PRUMO_STEP_FUNCTION void begin_numbers(const image_chunk& stage, int parity) const {
    const std::int32_t* const from = body_.data().order + stage.step * table_.batch + stage.first;
    for (int i = team_.rank(); i < stage.count; i += team_.size()) {
      prumo::detail::begin_copy(from + i, numbers(parity) + i);
    }
    prumo::detail::end_copy_group();
  }

  /// The first round of a launch, whose numbers are there.
  PRUMO_STEP_FUNCTION void put_first() const { put_pixels(parity_, 0, round_count(now_, 0), false); }

  /// A round of images forward to the first dense layer, from the image `first` of the stage on. Begins with a barrier.
  /// \param kept,factors of the first image of the stage
  PRUMO_STEP_FUNCTION void run_forward(int first, C* kept, C* factors) const {
    const int count = round_count(now_, first), next = first + count;
    const bool is_last = next >= now_.count;
    // Behind the last round, the first one comes again on its way back.
    const int next_round = is_last ? 0 : next;
    team_.barrier();
    begin_pixels(parity_, next_round, round_count(now_, next_round));
    body_.run_forward(count);
    keep(count, kept + std::int64_t{first} * table_.kept, factors + std::int64_t{first} * table_.factors);
    prumo::detail::wait_for_copy_groups<0>();
    team_.barrier();
    if (!is_last) put_pixels(parity_, next, round_count(now_, next), true);
  }

  /// All images of the stage through the dense layers and back.
  PRUMO_STEP_FUNCTION void run_dense(std::int64_t images_of_step, C* kept, C* factors) const {
    const step_data<C>& data = body_.data();
    const int images = now_.count, elements = table_.images_at_once * table_.image_elements;
    C* const scratch = body_.scratch().memory();
    PRUMO_KEEP_LOOP
    for (int which = table_.first_dense; which < table_.layers; ++which) {
      const step_layer& it = table_.layer[which];
      multiply_stage(team_, it, images, x_of(which, factors),
                     which + 1 < table_.layers ? x_of(which + 1, factors) : dy_of(which, factors),
                     data.weights + it.weights, it.bias >= 0 ? data.weights + it.bias : nullptr, scratch, elements);
    }
    begin_numbers(next_, parity_ ^ 1);
    differentiate(images_of_step, dy_of(table_.layers - 1, factors));
    PRUMO_KEEP_LOOP
    for (int which = table_.layers - 1; which >= table_.first_dense; --which) {
      const step_layer& it = table_.layer[which];
      if (it.is_first) break;
      const bool is_lowest = which == table_.first_dense;
      multiply_stage_backward(team_, it, images, x_of(which, factors), dy_of(which, factors),
                              is_lowest ? stage_array<C>{kept, table_.kept} : dy_of(which - 1, factors),
                              data.weights + it.weights, scratch, elements);
    }
    // Products have been where the edges of planes are.
    for (int i = team_.rank(); i < elements; i += team_.size()) scratch[i] = 0;
    prumo::detail::wait_for_copy_groups<0>();
    team_.barrier();
    if (goes_back()) {
      put_pixels(parity_, 0, round_count(now_, 0), true);
    } else {
      put_pixels(parity_ ^ 1, 0, round_count(next_, 0), false);
    }
  }

  /// Whether images go back behind the dense layers.
  PRUMO_STEP_FUNCTION bool goes_back() const { return table_.first_dense > 0; }

  /// A round back to the first layer. Begins with a barrier.
  PRUMO_STEP_FUNCTION void run_backward(int first, const C* kept) const {
    const int count = round_count(now_, first), next = first + count;
    const bool is_last = next >= now_.count;
    const int next_parity = is_last ? parity_ ^ 1 : parity_, next_first = is_last ? 0 : next;
    const int next_count = round_count(is_last ? next_ : now_, next_first);
    const step_images<C> images{body_.scratch().memory(), table_.image_elements, count};
    const C* const of_round = kept + std::int64_t{first} * table_.kept;
    team_.barrier();
    begin_kept(images, of_round, 0, table_.kept_of_last);
    begin_kept(images, of_round, table_.kept_of_last, table_.kept_ranges);
    begin_pixels(next_parity, next_first, next_count);
    prumo::detail::wait_for_copy_groups<2>();
    team_.barrier();
    PRUMO_KEEP_LOOP
    for (int which = table_.first_dense - 1; which >= 0; --which) {
      if (which > 0 && table_.layer[which - 1].cleared_rows >= 0) clear_edges(team_, table_.layer[which - 1], images);
      body_.run_filter_backward(table_.layer[which], images);
      if (which == 0) {
        prumo::detail::wait_for_copy_groups<0>();
      } else {
        prumo::detail::wait_for_copy_groups<1>();
      }
      team_.barrier();
    }
    put_pixels(next_parity, next_first, next_count, true);
  }

 private:
  /// The numbers of a stage's images. Those of one stage arrive while the ones before are in use.
  PRUMO_STEP_FUNCTION int* numbers(int parity) const {
    return parity == 0 ? body_.scratch().next_images() : body_.scratch().next_labels();
  }

  /// The images of the round that begins with this one of a stage.
  PRUMO_STEP_FUNCTION int round_count(const image_chunk& stage, int first) const {
    const int left = stage.count - first;
    return left < table_.images_at_once ? left : table_.images_at_once;
  }

  /// Whether there is room for the pixels of a round that comes next.
  PRUMO_STEP_FUNCTION bool holds(int count) const { return count * table_.pixels <= table_.bytes_ahead; }

  /// Begins to copy the pixels of a round: some images of a stage.
  PRUMO_STEP_FUNCTION void begin_pixels(int parity, int first, int count) const {
    const int* const images = numbers(parity) + first;
    const item_grid grid = table_.layer[0].x_items;
    const int words = table_.pixels / pixels_of_word, items = holds(count) ? count * words : 0;
    auto* const to = reinterpret_cast<unsigned*>(body_.scratch().next_bytes());
    for (int item = team_.rank(); item < items; item += team_.size()) {
      const int image = item_place(item * pixels_of_word, grid).image;
      const std::uint8_t* const pixels = body_.data().pixels + std::int64_t{images[image]} * table_.pixels;
      const int word = item - image * words;
      prumo::detail::begin_copy(reinterpret_cast<const unsigned*>(pixels) + word, to + item);
    }
    prumo::detail::end_copy_group();
  }

  /// Makes numbers of the pixels of a round. A barrier must follow.
  /// \param have_come whether begin_pixels() has copied them, if it could
  PRUMO_STEP_FUNCTION void put_pixels(int parity, int first, int count, bool have_come) const {
    const int* const images = numbers(parity) + first;
    const step_layer& lowest = table_.layer[0];
    const std::uint8_t* const bytes = body_.scratch().next_bytes();
    const item_grid grid = lowest.x_items;
    const int elements = table_.image_elements, pixels = table_.pixels;
    const bool are_there = have_come && holds(count);
    C* const memory = body_.scratch().memory();
    PRUMO_KEEP_LOOP
    for (int item = team_.rank(); item < count * pixels; item += team_.size()) {
      const item_place at(item, grid);
      const int of_image = item - at.image * pixels;
      const std::uint8_t pixel =
          are_there ? bytes[item] : body_.data().pixels[std::int64_t{images[at.image]} * pixels + of_image];
      put_pixel(lowest, memory + at.image * elements, at, pixel);
    }
  }

  /// Writes what the way back needs of the images of a round to memory.
  PRUMO_STEP_FUNCTION void keep(int count, C* kept, C* factors) const {
    const int image_elements = table_.image_elements;
    for_each_kept_pack(0, table_.kept_ranges, [&](int which, int in_image, int in_kept) {
      const C* from = body_.scratch().memory() + in_image;
      // The first part is x of the first dense layer, which is among its factors.
      const int x_factor = table_.layer[table_.first_dense].x_factor;
      C* to = which == 0 ? factors + x_factor + in_kept : kept + in_kept;
      const int apart = which == 0 ? table_.factors : table_.kept;
      for (int image = 0; image < count; ++image, from += image_elements, to += apart) {
        prumo::detail::store_pack(to, *reinterpret_cast<const pack*>(from));
      }
    });
  }

  /// Begins to copy it back, the parts from `begin` to before `end`.
  PRUMO_STEP_FUNCTION void begin_kept(const step_images<C>& images, const C* kept, int begin, int end) const {
    for_each_kept_pack(begin, end, [&](int, int in_image, int in_kept) {
      const C* from = kept + in_kept;
      C* to = images.memory + in_image;
      for (int image = 0; image < images.count; ++image, from += table_.kept, to += images.elements) {
        prumo::detail::begin_copy(reinterpret_cast<const pack*>(from), reinterpret_cast<pack*>(to));
      }
    });
    prumo::detail::end_copy_group();
  }

  using pack = prumo::detail::device_pack<C>;

  /// visit(part, place among an image's elements, place among what is kept) for the packs of some parts that this
  /// thread has. Each part begins with the thread behind the last one of the part before.
  template <class Visit>
  PRUMO_STEP_FUNCTION void for_each_kept_pack(int begin, int end, const Visit& visit) const {
    constexpr int elements = prumo::detail::device_pack_elements<C>;
    int rank = team_.rank(), in_kept = 0;
    PRUMO_KEEP_LOOP
    for (int which = 0; which < end; ++which) {
      const kept_range range = table_.kept_range_of[which];
      const int packs = range.elements / elements;
      if (which >= begin) {
        int i = rank;
        PRUMO_KEEP_LOOP
        for (; i < packs; i += team_.size()) visit(which, range.begin + i * elements, in_kept + i * elements);
        rank = i - packs;
      }
      in_kept += range.elements;
    }
  }

  PRUMO_STEP_FUNCTION stage_array<C> x_of(int which, C* factors) const {
    return {factors + table_.layer[which].x_factor, table_.factors};
  }
  PRUMO_STEP_FUNCTION stage_array<C> dy_of(int which, C* factors) const {
    return {factors + table_.layer[which].dy_factor, table_.factors};
  }

  /// The losses, and gradients in the place of the scores. Ends with a barrier.
  PRUMO_STEP_FUNCTION void differentiate(std::int64_t images_of_step, const stage_array<C>& scores) const {
    const int* const images = numbers(parity_);
    for (int image = team_.stretch(); image < now_.count; image += team_.stretches()) {
      body_.differentiate(scores.begin + std::int64_t{image} * scores.apart, image, body_.data().labels[images[image]],
                          images_of_step);
    }
    team_.barrier();
    body_.add_losses(now_.count);
  }

  const body_type& body_;
  const Team& team_;
  const step_table& table_;
  const image_chunk &now_, &next_;
  int parity_;
};

}  // namespace prumo::nets
