// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "array_places.hpp"

#include "window_plan.hpp"

#include <algorithm>

namespace prumo::nets {
namespace {

/// Edges of zeros around a plane: rows above and below, columns left and right.
struct edges {
  std::int64_t rows = 0, columns = 0;
};

class array_placer {
 public:
  array_placer(const step_request& request, step_table& table, net_share* share)
      : request_(request), table_(table), share_(share) {}

  std::int64_t run() {
    choose_tiles();
    if (request_.takes_windows && has_windows(table_)) table_.shape = step_shape::windows;
    table_.layer[0].x = take(table_.layer[0], true, edges_of(0), table_.layer[0].kind == step_kind::dense);
    unfold_pixels();
    place_results();
    if (table_.shape == step_shape::windows) place_windows();
    if (table_.shape == step_shape::staged) list_kept_ranges();
    for (int i = table_.layers - 1; i >= 0; --i) {
      step_layer& it = table_.layer[i];
      it.dy = i + 1 < table_.layers && !gathers(i + 1) ? table_.layer[i + 1].dx : it.y;
      if (share_ != nullptr && i + 1 == table_.layers) it.dy = take(it, false, {}, true);
      it.dx = it.x;
      if ((it.kind == step_kind::maximum && !it.owns_windows) || (gathers(i) && !it.takes_tiles)) {
        it.dx = take(it, true, edges_of(i));
      }
      if (share_ != nullptr) take_received(i);
      it.has_halves = covers_halves(it) && is_even(it.x) && is_even(it.dx);
    }
    // Threads of large tiles that read the same place of several images meet in fewer banks of a device's memory.
    if (has_large_tiles(table_.shape)) taken_ += (36 - taken_ % 32) % 32;
    return taken_;
  }

 private:
  void choose_tiles() {
    for (int i = 0; i < table_.layers; ++i) {
      step_layer& it = table_.layer[i];
      const bool has_tile = has_tiles(it.filter_height, it.filter_width, it.row_stride, it.column_stride);
      // A dense layer takes its input without gaps, so there is no edge before it.
      const bool has_edge = it.is_first || (i + 1 < table_.layers && table_.layer[i + 1].kind != step_kind::dense);
      const bool has_rows =
          it.out_height >= tile_rows && it.out_width >= tile_rows && (it.is_first || it.in_height >= tile_rows);
      it.takes_tiles = request_.wants_edges && it.kind == step_kind::convolution && has_tile && has_edge && has_rows;
      it.takes_columns = it.takes_tiles && !it.is_first && has_many_weights(table_.shape) &&
                         it.out_height >= least_column_rows && it.out_height <= most_column_rows;
    }
  }

  /// The copies of the pixels for a first convolution whose result has rows without gaps.
  void unfold_pixels() {
    step_layer& it = table_.layer[0];
    if (!request_.takes_vectors || !it.takes_tiles || edges_of(1).columns > 0) return;
    const int rows = it.in_height + 2 * it.row_padding;
    taken_ = round_up(taken_, most_vector_elements);
    it.unfolded_apart = static_cast<int>(round_up(std::int64_t{rows} * it.out_width, most_vector_elements));
    it.unfolded = {static_cast<int>(taken_) + it.row_padding * it.out_width, it.out_width,
                   it.filter_width * it.unfolded_apart};
    taken_ += std::int64_t{it.in_channels} * it.unfolded.plane;
  }

  /// The results of the layers. Where the first layer that pools notes its choices, the result before it shares its
  /// place with those behind it, from the next convolution's on: they are alive while it is not. Of these, only that of
  /// the convolution has its edges set to zero again, so others that have edges lie elsewhere.
  void place_results() {
    std::int64_t shared_begin = 0, shared_end = 0;
    for (int i = 0; i < table_.layers; ++i) {
      step_layer& it = table_.layer[i];
      if (i > 0) it.x = gathers(i) ? take(it, true, edges_of(i)) : table_.layer[i - 1].y;
      const bool shares_place = i > 1 && may_share(0, i);
      if (!shares_place) take_choices(i);
      if (may_share_place(i + 1)) {
        shared_begin = taken_;
        for (int behind = i + 2; behind < table_.layers; ++behind) {
          if (!may_share(i, behind)) continue;
          take_choices(behind);
          take_y(behind);
        }
        shared_end = taken_;
        taken_ = shared_begin;
        take_y(i);
        taken_ = std::max(taken_, shared_end);
      } else if (!shares_place) {
        take_y(i);
      }
      const edges around = edges_of(i + 1);
      const bool has_edges = around.rows > 0 || around.columns > 0;
      it.cleared_rows = has_edges && may_share_place(i - 1) ? static_cast<int>(around.rows) : -1;
    }
  }

  /// Whether the x of a layer comes from all teams of a cluster.
  [[nodiscard]] bool gathers(int which) const { return share_ != nullptr && share_->layer[which].gathers; }

  /// The place for parts of sums that teams send. Those of dense layers have two in turns: a team may send those of a
  /// step when another one still reads those of the step before.
  void take_received(int which) {
    const step_layer& it = table_.layer[which];
    layer_share& share = share_->layer[which];
    std::int64_t of_a_team = 0;
    if (share.gathers) of_a_team = table_.layer[which - 1].out_size();
    if (share.kind == share_kind::inputs) of_a_team = std::int64_t{2} * it.out_size();
    if (share.kind == share_kind::outputs && !it.is_first) of_a_team = std::int64_t{2} * it.in_size();
    if (of_a_team == 0) return;
    share.received = static_cast<int>(taken_);
    taken_ += padded(share_->teams * of_a_team);
  }

  /// Whether the result of a layer can lie in the place of that before a layer which notes its choices.
  [[nodiscard]] bool may_share(int before, int which) const {
    if (!may_share_place(before + 1) || which < before + 2) return false;
    const edges around = edges_of(which + 1);
    return which == before + 2 || (around.rows == 0 && around.columns == 0);
  }

  /// The edge that the layers on both sides of an array want.
  [[nodiscard]] edges edges_of(int after) const {
    edges result;
    if (after < table_.layers && table_.layer[after].has_filter()) {
      result = {table_.layer[after].row_padding, table_.layer[after].column_padding};
    }
    if (after > 0 && table_.layer[after - 1].takes_tiles && !table_.layer[after - 1].is_first &&
        !table_.layer[after - 1].takes_columns) {
      const step_layer& before = table_.layer[after - 1];
      result.rows = std::max<std::int64_t>(result.rows, before.filter_height - 1 - before.row_padding);
      result.columns = std::max<std::int64_t>(result.columns, before.filter_width - 1 - before.column_padding);
    }
    return result;
  }

  /// Planes that begin 4 (mod 8) elements behind each other, unless there must be no gaps between them: threads that
  /// read the same place of several planes then meet in fewer banks of a device's memory. Where they also read that of
  /// several images, 6 (mod 8). The zeros on the right of a
  /// row may be those on the left of the next one, too.
  step_planes take(const step_layer& of, bool input, edges around, bool without_gaps = false) {
    const std::int64_t channels = input ? of.in_channels : of.out_channels;
    const std::int64_t height = input ? of.in_height : of.out_height, width = input ? of.in_width : of.out_width;
    const bool shares_edges = request_.saves_memory && table_.shape != step_shape::windows;
    // Rows of an even number of pixels then still begin with a pair.
    if (shares_edges) around.columns += around.columns % 2;
    std::int64_t pitch = width + (shares_edges ? 1 : 2) * around.columns;
    // Threads that read the halves of a few windows then meet in fewer banks, and each window begins with a pack.
    if (input && table_.shape == step_shape::windows) pitch += (24 - pitch % 16) % 16;
    std::int64_t plane = (height + 2 * around.rows) * pitch;
    const bool has_columns = !input && of.takes_columns;
    if (request_.takes_vectors) {
      taken_ = round_up(taken_, most_vector_elements);
      if (!without_gaps) plane = round_up(plane, most_vector_elements);
    } else if (!without_gaps) {
      plane += ((has_columns ? 14 : 12) - plane % 8) % 8;
    }
    const step_planes result{static_cast<int>(taken_ + around.rows * pitch + around.columns), static_cast<int>(pitch),
                             static_cast<int>(plane)};
    taken_ += padded((shares_edges ? around.columns : 0) + channels * plane);
    return result;
  }

  /// Whether a layer notes its choices, and the place for them.
  void take_choices(int which) {
    step_layer& it = table_.layer[which];
    it.notes_choices = may_share_place(which) || (table_.shape == step_shape::staged && may_note_choices(which));
    if (!it.notes_choices) return;
    it.choices = static_cast<int>(taken_);
    taken_ += choice_elements(it);
  }

  void take_y(int which) {
    step_layer& it = table_.layer[which];
    const bool has_no_gaps = which + 1 == table_.layers || table_.layer[which + 1].kind == step_kind::dense;
    y_begin_[which] = taken_;
    it.y = take(it, false, edges_of(which + 1), has_no_gaps);
    y_end_[which] = taken_;
  }

  [[nodiscard]] std::int64_t choice_elements(const step_layer& it) const {
    return padded((it.out_size() - 1) / request_.element_bytes + 1);
  }

  /// Whether a layer can note its choices: it pools the result of a convolution with tiles, nothing but it needs that
  /// result, whose slope is 1 or 0, and pixels can be read in pairs.
  [[nodiscard]] bool may_note_choices(int which) const {
    if (!request_.saves_memory || share_ != nullptr || which < 1 || which + 1 >= table_.layers) return false;
    const step_layer &before = table_.layer[which - 1], &it = table_.layer[which];
    const bool has_slopes = it.below != activation::relu && it.below != activation::none;
    return it.kind == step_kind::maximum && covers_halves(it) && !has_slopes && before.takes_tiles;
  }
  /// Whether its x and the results behind it share their place: it is between two convolutions with tiles.
  [[nodiscard]] bool may_share_place(int which) const {
    return which == 1 && may_note_choices(which) && table_.layer[which + 1].takes_tiles;
  }

  /// What a staged team keeps of an image: the x of a layer, or the choices that it has noted.
  void list_kept_ranges() {
    if (table_.first_dense == 0) {
      keep(table_.layer[0].x.begin, padded(table_.layer[0].in_size()));
      return;
    }
    keep(table_.layer[table_.first_dense].x.begin, padded(table_.layer[table_.first_dense].in_size()));
    for (int i = table_.first_dense - 1; i >= 0; --i) {
      const step_layer& it = table_.layer[i];
      if (it.notes_choices) {
        keep(it.choices, choice_elements(it));
      } else if (i > 0) {
        keep(y_begin_[i - 1], y_end_[i - 1] - y_begin_[i - 1]);
      }
      if (i + 1 == table_.first_dense) table_.kept_of_last = table_.kept_ranges;
    }
  }
  void keep(std::int64_t begin, std::int64_t elements) {
    table_.kept_range_of[table_.kept_ranges++] = {static_cast<int>(begin), static_cast<int>(elements)};
    table_.kept += static_cast<int>(elements);
  }

  void place_windows() {
    const step_layer& first = table_.layer[0];
    table_.window_image_apart = take(first, true, edges_of(0)).begin - first.x.begin;
    table_.window_halves = item_grid(table_.layer[0].out_channels, 1, window_halves_of(table_.layer[1]));
    table_.window_slopes = static_cast<int>(taken_);
    taken_ += most_window_outputs;
    table_.window_sums = static_cast<int>(taken_);
    taken_ += padded(std::int64_t{table_.window_halves.of_an_image} / window_lanes * window_group_sums);
  }

  /// Whether windows of 2 x 2 pixels cover the plane.
  [[nodiscard]] static bool covers_halves(const step_layer& it) {
    const bool pools = it.kind == step_kind::maximum || it.kind == step_kind::average;
    const bool is_small = it.filter_height == 2 && it.filter_width == 2 && it.row_stride == 2 && it.column_stride == 2;
    return pools && is_small && it.row_padding == 0 && it.column_padding == 0 && it.in_height == 2 * it.out_height &&
           it.in_width == 2 * it.out_width;
  }

  /// Whether pixels can be read in pairs.
  [[nodiscard]] static bool is_even(const step_planes& of) { return (of.begin | of.pitch | of.plane) % 2 == 0; }

  const step_request& request_;
  step_table& table_;
  net_share* share_;
  std::int64_t taken_ = 0;
  std::int64_t y_begin_[most_step_layers] = {}, y_end_[most_step_layers] = {};  ///< with their edges
};

}  // namespace

std::int64_t place_arrays(const step_request& request, step_table& table, net_share* share) {
  return array_placer(request, table, share).run();
}

}  // namespace prumo::nets
