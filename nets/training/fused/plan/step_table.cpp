// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_table.hpp"

#include "array_places.hpp"
#include "layer_tiles.hpp"
#include "net_share.hpp"
#include "read_layers.hpp"
#include "step_places.hpp"
#include "update_tiles.hpp"
#include "window_plan.hpp"

#include <climits>

#include <algorithm>
#include <utility>

namespace prumo::nets {
namespace {

class table_maker {
 public:
  /// \param share of a team of a cluster; null: the team has the whole net
  table_maker(const step_request& request, step_table& table, net_share* share = nullptr)
      : request_(request), table_(table), share_(share) {}

  std::string run() {
    if (std::string reason = read_layers(request_, table_); !reason.empty()) return reason;
    if (share_ == nullptr) {
      place();
    } else if (std::string reason = place_share(); !reason.empty()) {
      return reason;
    }
    place_gradients();
    return choose_images();
  }

 private:
  void place() {
    taken_ = place_arrays(request_, table_, share_);
    copies_ = 0;
    place_copies();
  }

  /// All teams have their arrays at the places of the first one, whose share is the largest.
  std::string place_share() {
    if (std::string reason = choose_shares(table_, *share_); !reason.empty()) return reason;
    table_.shape = step_shape::share;
    const int team = std::exchange(share_->team, 0);
    const step_table whole = table_;
    take_share(whole, table_, *share_);
    place();
    share_->team = team;
    take_share(whole, table_, *share_);
    return {};
  }

  void place_copies() {
    const auto take_copy = [&](std::int64_t elements) {
      const std::int64_t place = copies_;
      copies_ += padded(elements);
      return static_cast<int>(place);
    };
    for (int i = 0; i < table_.layers; ++i) {
      step_layer& it = table_.layer[i];
      it.forward_copy = it.backward_copy = it.bias_copy = -1;
      it.padded_out = static_cast<int>(padded(it.out_channels));
      it.padded_in = static_cast<int>(padded(it.in_channels));
      const bool is_dense = it.kind == step_kind::dense;
      it.has_packs = is_dense && it.in_size() % 4 == 0 && it.weights % 4 == 0 && it.x.begin % 4 == 0;
      const bool takes_windows = table_.shape == step_shape::windows;
      if (it.weights < 0) continue;
      if (is_dense && share_ != nullptr) {
        // Lanes that have a few weights of several outputs then read from different banks of a device's memory.
        share_->layer[i].copies_apart = copies_apart(static_cast<int>(padded(it.in_size())));
        it.forward_copy = take_copy(std::int64_t{it.out_channels} * share_->layer[i].copies_apart);
        if (it.bias >= 0) it.bias_copy = take_copy(it.bias_count());
        continue;
      }
      const bool has_copies = it.weight_count() <= request_.most_dense_copies && table_.shape != step_shape::staged;
      if (is_dense && !takes_windows && !has_copies) continue;
      if (takes_windows && !is_dense) {
        const bool is_shared = it.kind == step_kind::shared_convolution;
        it.forward_copy = take_copy(is_shared ? shared_copies : it.out_channels * window_map_copies);
        continue;
      }
      if (it.kind == step_kind::convolution) {
        it.forward_apart = copies_apart(it.filter_size() * it.padded_out);
        it.backward_apart = copies_apart(it.filter_size() * it.padded_in);
        it.forward_copy = take_copy(std::int64_t{it.in_channels} * it.forward_apart);
        if (!it.is_first) it.backward_copy = take_copy(std::int64_t{it.out_channels} * it.backward_apart);
      } else {
        it.forward_copy = take_copy(it.weight_count());
      }
      if (it.bias >= 0) it.bias_copy = take_copy(it.bias_count());
    }
  }

  /// A multiple of four that is none of eight.
  static int copies_apart(int elements) { return elements % 8 == 0 ? elements + 4 : elements; }

  void place_gradients() {
    for (int i = 0; i < table_.layers; ++i) {
      step_layer& it = table_.layer[i];
      if (it.has_filter() || table_.shape == step_shape::windows) {
        it.gradient = table_.gradients;
        table_.gradients += it.weight_count() + it.bias_count();
      } else if (it.kind == step_kind::dense) {
        it.x_factor = table_.factors;
        it.dy_factor = it.x_factor + static_cast<int>(padded(it.in_size()));
        // Tiles read those of outputs that do not exist.
        table_.factors = it.dy_factor + (it.out_channels + wide_outputs - 1) / wide_outputs * wide_outputs;
      }
    }
  }

  std::string choose_images() {
    // The pixels of the next images, as bytes.
    const bool has_words = request_.wants_edges && table_.pixels % pixels_of_word == 0;
    const std::int64_t most_ahead = has_words ? held_words * pixels_of_word * step_threads : 0;
    const auto bytes_ahead = [&](std::int64_t images) {
      const std::int64_t bytes = images * table_.pixels;
      return bytes <= most_ahead ? bytes : 0;
    };
    const auto elements_of = [&](std::int64_t images) {
      return images * taken_ + padded((bytes_ahead(images) + request_.element_bytes - 1) / request_.element_bytes);
    };
    std::int64_t of_shape = 0;  // room that a shape takes beside its images
    const auto room = [&] {
      const std::int64_t bytes =
          request_.scratch_bytes - (share_ == nullptr ? 0 : std::int64_t{sizeof(net_share)} + 32);
      return bytes / request_.element_bytes - copies_ * (1 + moments()) - sources() - padded(gradients_in_scratch()) -
             of_shape;
    };
    const std::int64_t of_a_group = (table_.batch - 1) / std::min<std::int64_t>(table_.batch, most_step_groups) + 1;
    const auto most_images = [&] {
      std::int64_t images = std::min<std::int64_t>(of_a_group, request_.most_images_at_once);
      while (images > 0 && elements_of(images) > room()) --images;
      return images;
    };
    table_.partial_bytes = std::max(partial_sums, update_sums) * request_.element_bytes;
    const bool has_many_tiles =
        table_.shape != step_shape::windows && make_update_tiles(table_).size() > request_.most_narrow_tiles;
    if (has_many_tiles && most_images() >= request_.many_images) {
      table_.shape = step_shape::many_images;
      table_.has_wide_tiles = true;
      place();
      if (takes_stages(of_a_group, most_images())) {
        table_.shape = step_shape::staged;
        place();
        of_shape = stage_images(of_a_group) * bytes_of_stage_image / request_.element_bytes;
      }
    }
    const bool takes_many_weights = request_.takes_many_weights && has_many_tiles && share_ == nullptr &&
                                    table_.shape == step_shape::few_images && table_.batch > 1;
    if (takes_many_weights) {
      const std::int64_t of_few_images = most_images();
      const std::int64_t wide = std::int64_t{most_update_slices} * wide_sums * request_.element_bytes;
      const std::int64_t more = std::max<std::int64_t>(0, wide - table_.partial_bytes);
      table_.shape = step_shape::many_weights;
      table_.has_wide_tiles = true;
      place();
      of_shape = more / request_.element_bytes;
      if (most_images() < of_few_images || update_slices() < least_wide_slices) {
        table_.shape = step_shape::few_images;
        table_.has_wide_tiles = false;
        place();
        of_shape = 0;
      } else {
        table_.partial_bytes += more;
      }
    }
    if ((table_.shape == step_shape::few_images || share_ != nullptr) && request_.wants_edges) {
      constexpr std::int64_t bytes_of_columns = std::int64_t{column_sums} * step_threads * sizeof(float);
      const std::int64_t more = std::max<std::int64_t>(0, bytes_of_columns - table_.partial_bytes);
      table_.partial_bytes += more;
      of_shape = more / request_.element_bytes;
    }
    const std::int64_t most = std::min<std::int64_t>(most_images(), table_.shape == step_shape::windows ? 1 : INT_MAX);
    if (room() < 0 || most < 1) {
      return "needs " +
             std::to_string((request_.scratch_bytes / request_.element_bytes - room() + elements_of(1)) *
                            request_.element_bytes) +
             " bytes of scratch memory for an image and its filters, and a team has " +
             std::to_string(request_.scratch_bytes);
    }
    table_.copies = static_cast<int>(copies_);
    table_.image_elements = static_cast<int>(taken_);
    table_.groups = static_cast<int>(std::min<std::int64_t>(table_.batch, most_step_groups));
    table_.images_of_a_group = static_cast<int>(table_.batch / table_.groups);
    table_.larger_groups = static_cast<int>(table_.batch % table_.groups);
    // As few stages and rounds as there can be, of equal length.
    table_.images_of_a_stage = is_staged() ? stage_images(of_a_group) : static_cast<int>(of_a_group);
    table_.images_at_once = equal_part(table_.images_of_a_stage, most);
    table_.bytes_ahead = static_cast<int>(bytes_ahead(table_.images_at_once));
    plan_layer_tiles(request_.element_bytes, table_, share_);
    table_.update_tiles = static_cast<int>(make_update_tiles(table_).size());
    table_.update_slices = update_slices();
    place_scratch();
    return {};
  }

  [[nodiscard]] int update_slices() const {
    // Beside wide tiles, those of filters are short.
    const int filter_tiles = (table_.gradients + tile_columns - 1) / tile_columns;
    const auto tiles = static_cast<int>(make_update_tiles(table_).size());
    const std::int64_t summed = table_.shape == step_shape::windows ? table_.groups : table_.batch;
    return choose_update_slices(table_.has_wide_tiles ? tiles - filter_tiles - 1 : tiles, summed);
  }

  /// Whether a team takes groups of so many images in stages: it has to take several rounds, and the products of dense
  /// layers have to have room.
  [[nodiscard]] bool takes_stages(std::int64_t of_a_group, std::int64_t at_once) const {
    return of_a_group > at_once && of_a_group >= request_.least_stage_images &&
           at_once * taken_ >= least_product_elements(stage_images(of_a_group));
  }

  [[nodiscard]] int stage_images(std::int64_t of_a_group) const {
    return equal_part(of_a_group, request_.most_stage_images);
  }

  /// The longest of the fewest equal parts of `all` that have at most `most`.
  static int equal_part(std::int64_t all, std::int64_t most) {
    const std::int64_t parts = (all - 1) / most + 1;
    return static_cast<int>((all - 1) / parts + 1);
  }

  /// The arrays in scratch memory, each at a multiple of 32 bytes, or where vectors begin.
  void place_scratch() {
    const std::int64_t element = request_.element_bytes;
    const std::int64_t images = is_staged() ? table_.images_of_a_stage : table_.images_at_once;
    constexpr std::int64_t of_int = sizeof(int), of_double = sizeof(double);
    const std::int64_t bytes[scratch_arrays] = {2 * of_double,
                                                images * of_double,
                                                images * of_int,
                                                images * of_int,
                                                images * of_int,
                                                images * of_int,
                                                table_.bytes_ahead,
                                                table_.copies * element,
                                                sources() * of_int,
                                                share_ == nullptr ? 0 : std::int64_t{sizeof(net_share)},
                                                table_.copies * moments() * element,
                                                element * table_.images_at_once * table_.image_elements,
                                                gradients_in_scratch() * element};
    std::int64_t taken = round_up(std::int64_t{sizeof(step_table)}, 32) + table_.partial_bytes;
    for (int i = 0; i < scratch_arrays; ++i) {
      taken = round_up(taken, request_.takes_vectors ? most_vector_bytes : 32);
      table_.scratch_begin[i] = static_cast<int>(taken);
      taken += round_up(bytes[i], 32);
    }
    table_.scratch_bytes = static_cast<int>(taken);
  }

  /// Moments that lie in scratch memory beside the copies.
  [[nodiscard]] std::int64_t moments() const { return share_ == nullptr ? 0 : share_->moments; }

  /// The places of parameters that teams keep for their copies: of teams that take windows.
  [[nodiscard]] std::int64_t sources() const { return table_.shape == step_shape::windows ? copies_ : 0; }

  /// Teams that take windows sum gradients in registers.
  [[nodiscard]] std::int64_t gradients_in_scratch() const {
    return table_.shape == step_shape::windows ? 0 : table_.gradients;
  }

  [[nodiscard]] bool is_staged() const { return table_.shape == step_shape::staged; }

  /// Of an image of a stage in scratch memory: its loss, whether it is correct, and numbers of images.
  static constexpr std::int64_t bytes_of_stage_image = sizeof(double) + 4 * sizeof(int);

  const step_request& request_;
  step_table& table_;
  net_share* share_;
  std::int64_t taken_ = 0;  ///< elements of an image's scratch memory
  std::int64_t copies_ = 0;
};

}  // namespace

std::size_t least_fixed_bytes(std::int64_t element_bytes) {
  constexpr std::int64_t elements = std::max(partial_sums, update_sums);
  return (sizeof(step_table) + 31) / 32 * 32 + static_cast<std::size_t>(elements * element_bytes);
}

std::size_t scratch_bytes_of_update(const step_table& table) {
  return (sizeof(step_table) + 31) / 32 * 32 + static_cast<std::size_t>(table.partial_bytes);
}

std::string make_step_table(const step_request& request, step_table& table) {
  return table_maker(request, table).run();
}

std::string make_shared_table(const step_request& request, step_table& table, net_share& share) {
  constexpr int of_adam = 2, of_momentum = 1;
  share.moments = request.options.optimizer == optimizer::adam       ? of_adam
                  : request.options.optimizer == optimizer::momentum ? of_momentum
                                                                     : 0;
  return table_maker(request, table, &share).run();
}

}  // namespace prumo::nets
