// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "step_table.hpp"

#include "array_places.hpp"
#include "net_share.hpp"
#include "step_places.hpp"
#include "update_tiles.hpp"
#include "window_plan.hpp"
#include <prumo/nets/overloaded.hpp>

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
    if (std::string reason = read_layers(); !reason.empty()) return reason;
    choose_losses();
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

  /// The layers without their places.
  std::string read_layers() {
    const std::vector<layer>& layers = request_.net.layers;
    table_ = {};
    std::size_t count = layers.size();
    if (count > 0 && std::holds_alternative<softmax>(layers[count - 1])) {
      --count;
      if (request_.options.loss == loss::squared) return "does not train a softmax layer with squared errors";
    }
    if (count > most_step_layers) {
      return "takes nets of up to " + std::to_string(most_step_layers) + " layers, and this one has " +
             std::to_string(count);
    }
    if (count == 0 || !std::holds_alternative<dense>(layers[count - 1])) return "needs a dense layer at the end";
    if (request_.parameter_elements > INT_MAX / 4) return "takes nets of up to 2^29 parameters";
    std::size_t parameter = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const layer_facts& facts = request_.facts.layers[i];
      if (std::max(facts.input.size(), facts.output.size()) > largest_array) {
        return "takes layers of up to " + std::to_string(largest_array) + " numbers an image";
      }
      step_layer& to = table_.layer[i];
      to.is_first = i == 0;
      to.below = i == 0 ? activation::none : table_.layer[i - 1].activate;
      set_shapes(facts, to);
      std::visit(overloaded{[&](const convolution& it) { read(it, step_kind::convolution, to); },
                            [&](const shared_convolution& it) { read(it, step_kind::shared_convolution, to); },
                            [&](const pooling& it) { read(it, to); }, [&](const dense& it) { read(it, to); },
                            [](const softmax&) {}},
                 layers[i]);
      set_grids(to);
      if (!facts.parameters.empty()) to.weights = static_cast<int>(request_.offsets[parameter]);
      if (facts.parameters.size() > 1) to.bias = static_cast<int>(request_.offsets[parameter + 1]);
      parameter += facts.parameters.size();
    }
    table_.layers = static_cast<int>(count);
    table_.first_dense = table_.layers;
    while (table_.first_dense > 0 && table_.layer[table_.first_dense - 1].kind == step_kind::dense)
      --table_.first_dense;
    table_.pixels = static_cast<int>(request_.net.input.size());
    table_.classes = table_.layer[count - 1].out_channels;
    table_.batch = request_.options.batch;
    return {};
  }

  static void set_shapes(const layer_facts& facts, step_layer& to) {
    to.in_channels = static_cast<int>(facts.input.channels);
    to.in_height = static_cast<int>(facts.input.height);
    to.in_width = static_cast<int>(facts.input.width);
    to.out_channels = static_cast<int>(facts.output.channels);
    to.out_height = static_cast<int>(facts.output.height);
    to.out_width = static_cast<int>(facts.output.width);
  }

  static void set_windows(extent2 filter, extent2 stride, extent2 padding, step_layer& to) {
    to.filter_height = static_cast<int>(filter.height);
    to.filter_width = static_cast<int>(filter.width);
    to.row_stride = static_cast<int>(stride.height);
    to.column_stride = static_cast<int>(stride.width);
    to.row_padding = static_cast<int>(padding.height);
    to.column_padding = static_cast<int>(padding.width);
    to.taps = prumo::detail::index_divider(to.filter_size());
    to.tap_columns = prumo::detail::index_divider(to.filter_width);
    to.owns_windows = filter.height <= stride.height && filter.width <= stride.width;
    to.window_strides = prumo::detail::index_divider(to.row_stride);
  }

  template <class Convolution>
  static void read(const Convolution& it, step_kind kind, step_layer& to) {
    to.kind = kind;
    to.activate = it.activate;
    set_windows(it.filter, it.stride, it.padding, to);
  }
  static void read(const pooling& it, step_layer& to) {
    to.kind = it.kind == pooling_kind::maximum ? step_kind::maximum : step_kind::average;
    set_windows(it.window, it.stride, it.padding, to);
  }
  static void read(const dense& it, step_layer& to) {
    to.kind = step_kind::dense;
    to.activate = it.activate;
  }

  void choose_losses() {
    table_.which_loss = request_.options.loss;
    table_.which_optimizer = request_.options.optimizer;
    table_.mean_of_batch = request_.options.loss != loss::original;
    if (request_.options.loss != loss::squared) table_.layer[table_.layers - 1].activate = activation::none;
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
      if (it.has_filter()) {
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
      return bytes / request_.element_bytes - copies_ * (1 + moments()) - padded(table_.gradients) - of_shape;
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
    for (int i = 0; i < table_.layers; ++i) {
      step_layer& it = table_.layer[i];
      if (!it.takes_tiles) continue;
      it.forward = tiles_of(it.out_channels, it.out_height, it.out_width, it.in_channels, it.filter_width);
      it.backward = tiles_of(it.in_channels, it.in_height, it.in_width, it.out_channels, it.filter_width);
      it.forward.run = run_of(it.forward, it.x.plane, it.in_channels);
      it.backward.run = run_of(it.backward, it.dy.plane, it.out_channels);
      if (it.takes_columns) {
        const int columns = table_.images_at_once * ((it.in_channels + 1) / 2) * it.in_width;
        it.backward.part_shift = 0;
        while (it.backward.part_shift < most_column_shift && columns << (it.backward.part_shift + 1) <= step_threads &&
               2 << it.backward.part_shift <= it.out_channels) {
          ++it.backward.part_shift;
        }
      }
      const int across = has_many_weights(table_.shape) ? (it.out_width - 1) / tile_rows + 1 : it.out_width;
      it.gradient_places = item_grid(1, (it.out_height - 1) / tile_rows + 1, across);
      if (share_ != nullptr) {
        share_->layer[i].gradient_tasks = plan_gradient_tasks(it, request_.element_bytes);
      }
    }
    table_.update_tiles = static_cast<int>(make_update_tiles(table_).size());
    table_.update_slices = update_slices();
    place_scratch();
    return {};
  }

  [[nodiscard]] int update_slices() const {
    // Beside wide tiles, those of filters are short.
    const int filter_tiles = (table_.gradients + tile_columns - 1) / tile_columns;
    const auto tiles = static_cast<int>(make_update_tiles(table_).size());
    return choose_update_slices(table_.has_wide_tiles ? tiles - filter_tiles - 1 : tiles, table_.batch);
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
                                                share_ == nullptr ? 0 : std::int64_t{sizeof(net_share)},
                                                table_.copies * moments() * element,
                                                table_.images_at_once * table_.image_elements * element,
                                                table_.gradients * element};
    std::int64_t taken = (sizeof(step_table) + 31) / 32 * 32 + table_.partial_bytes;
    for (int i = 0; i < scratch_arrays; ++i) {
      taken = rounded_up(taken, request_.takes_vectors ? most_vector_bytes : 32);
      table_.scratch_begin[i] = static_cast<int>(taken);
      taken += rounded_up(bytes[i], 32);
    }
    table_.scratch_bytes = static_cast<int>(taken);
  }

  /// Tiles of six or four maps if there are enough for the threads of a team. Otherwise tiles of two. Several lanes
  /// share a tile while threads are left. Teams with few images do without tiles of six, and share those of two alone.
  [[nodiscard]] step_tiles tiles_of(int maps, int height, int width, int summed_channels, int side) const {
    const int groups = (height - 1) / tile_rows + 1;
    step_tiles result;
    if (share_ != nullptr) {
      result.maps = lane_tile_maps;
      result.grid = item_grid((maps + lane_tile_maps - 1) / lane_tile_maps, groups, width);
      while (result.part_shift < most_tile_lanes_shift &&
             result.grid.of_an_image << (result.part_shift + 1) <= step_threads &&
             2 << result.part_shift <= summed_channels * side) {
        ++result.part_shift;
      }
      return result;
    }
    for (const int of_a_tile : {6, 4, 2}) {
      if (of_a_tile > 2 && (maps % of_a_tile != 0 || (of_a_tile == 6 && !has_many()))) continue;
      result.maps = of_a_tile;
      const int of_maps = (maps - 1) / of_a_tile + 1;
      result.grid =
          has_many_weights(table_.shape) ? item_grid(groups, of_maps, width) : item_grid(of_maps, groups, width);
      const std::int64_t tiles = std::int64_t{table_.images_at_once} * result.grid.of_an_image;
      result.part_shift = 0;
      while ((has_many() || of_a_tile == 2) && result.part_shift < 2 &&
             tiles << (result.part_shift + 1) <= step_threads && 2 << result.part_shift <= summed_channels) {
        ++result.part_shift;
      }
      if (tiles << result.part_shift >= (has_many() ? step_threads / 2 : step_threads * 3 / 4)) break;
    }
    return result;
  }

  /// Two lanes that share the channels of a tile read from different banks of a device's memory if half of the banks
  /// lie between their planes, or at least as many as neighbouring tiles take with their columns.
  [[nodiscard]] static int run_of(const step_tiles& tiles, int plane, int channels) {
    constexpr int banks = 32;
    const int parts = 1 << tiles.part_shift;
    if (parts != 2) return 1;
    for (const int run : {1, 2, 4}) {
      if (run * plane % banks == banks / 2 && channels % (run * parts) == 0) return run;
    }
    for (const int run : {1, 2, 3, 4}) {
      const int apart = run * plane % banks;
      if (channels % (run * parts) == 0 && apart >= tiles.grid.columns && banks - apart >= tiles.grid.columns)
        return run;
    }
    return 1;
  }

  /// Moments that lie in scratch memory beside the copies.
  [[nodiscard]] std::int64_t moments() const { return share_ == nullptr ? 0 : share_->moments; }

  [[nodiscard]] bool has_many() const { return has_large_tiles(table_.shape); }
  [[nodiscard]] bool is_staged() const { return table_.shape == step_shape::staged; }

  /// Of an image of a stage in scratch memory: its loss, whether it is correct, and numbers of images.
  static constexpr std::int64_t bytes_of_stage_image = sizeof(double) + 4 * sizeof(int);
  static constexpr std::int64_t largest_array = std::int64_t{1} << 24U;

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

void set_grids(step_layer& it) {
  it.x_items = item_grid(it.in_channels, it.in_height, it.in_width);
  it.y_items = item_grid(it.out_channels, it.out_height, it.out_width);
  it.y_places = item_grid(1, it.out_height, it.out_width);
  const int areas_down = (it.in_height + it.row_padding - 1) / it.row_stride + 1;
  const int areas_across = (it.in_width + it.column_padding - 1) / it.column_stride + 1;
  it.window_areas = item_grid(it.in_channels, areas_down, areas_across);
  it.window_rows = item_grid(it.in_channels, it.in_height, areas_across);
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
