// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "read_layers.hpp"

#include <prumo/nets/overloaded.hpp>

#include <climits>

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace prumo::nets {
namespace {

constexpr std::int64_t largest_array = std::int64_t{1} << 24U;

void set_shapes(const layer_facts& facts, step_layer& to) {
  to.in_channels = static_cast<int>(facts.input.channels);
  to.in_height = static_cast<int>(facts.input.height);
  to.in_width = static_cast<int>(facts.input.width);
  to.out_channels = static_cast<int>(facts.output.channels);
  to.out_height = static_cast<int>(facts.output.height);
  to.out_width = static_cast<int>(facts.output.width);
}

void set_windows(extent2 filter, extent2 stride, extent2 padding, step_layer& to) {
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
void read(const Convolution& it, step_kind kind, step_layer& to) {
  to.kind = kind;
  to.activate = it.activate;
  set_windows(it.filter, it.stride, it.padding, to);
}
void read(const pooling& it, step_layer& to) {
  to.kind = it.kind == pooling_kind::maximum ? step_kind::maximum : step_kind::average;
  set_windows(it.window, it.stride, it.padding, to);
}
void read(const dense& it, step_layer& to) {
  to.kind = step_kind::dense;
  to.activate = it.activate;
}

void choose_losses(const step_request& request, step_table& table) {
  table.which_loss = request.options.loss;
  table.which_optimizer = request.options.optimizer;
  table.mean_of_batch = request.options.loss != loss::original;
  if (request.options.loss != loss::squared) table.layer[table.layers - 1].activate = activation::none;
}

}  // namespace

void set_grids(step_layer& it) {
  it.x_items = item_grid(it.in_channels, it.in_height, it.in_width);
  it.y_items = item_grid(it.out_channels, it.out_height, it.out_width);
  it.y_places = item_grid(1, it.out_height, it.out_width);
  const int areas_down = (it.in_height + it.row_padding - 1) / it.row_stride + 1;
  const int areas_across = (it.in_width + it.column_padding - 1) / it.column_stride + 1;
  it.window_areas = item_grid(it.in_channels, areas_down, areas_across);
  it.window_rows = item_grid(it.in_channels, it.in_height, areas_across);
}

std::string read_layers(const step_request& request, step_table& table) {
  const std::vector<layer>& layers = request.net.layers;
  table = {};
  std::size_t count = layers.size();
  if (count > 0 && std::holds_alternative<softmax>(layers[count - 1])) {
    --count;
    if (request.options.loss == loss::squared) return "does not train a softmax layer with squared errors";
  }
  if (count > most_step_layers) {
    return "takes nets of up to " + std::to_string(most_step_layers) + " layers, and this one has " +
           std::to_string(count);
  }
  if (count == 0 || !std::holds_alternative<dense>(layers[count - 1])) return "needs a dense layer at the end";
  if (request.parameter_elements > INT_MAX / 4) return "takes nets of up to 2^29 parameters";
  std::size_t parameter = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const layer_facts& facts = request.facts.layers[i];
    if (std::max(facts.input.size(), facts.output.size()) > largest_array) {
      return "takes layers of up to " + std::to_string(largest_array) + " numbers an image";
    }
    step_layer& to = table.layer[i];
    to.is_first = i == 0;
    to.below = i == 0 ? activation::none : table.layer[i - 1].activate;
    set_shapes(facts, to);
    std::visit(overloaded{[&](const convolution& it) { read(it, step_kind::convolution, to); },
                          [&](const shared_convolution& it) { read(it, step_kind::shared_convolution, to); },
                          [&](const pooling& it) { read(it, to); }, [&](const dense& it) { read(it, to); },
                          [](const softmax&) {}},
               layers[i]);
    set_grids(to);
    if (!facts.parameters.empty()) to.weights = static_cast<int>(request.offsets[parameter]);
    if (facts.parameters.size() > 1) to.bias = static_cast<int>(request.offsets[parameter + 1]);
    parameter += facts.parameters.size();
  }
  table.layers = static_cast<int>(count);
  table.first_dense = table.layers;
  while (table.first_dense > 0 && table.layer[table.first_dense - 1].kind == step_kind::dense) --table.first_dense;
  table.pixels = static_cast<int>(request.net.input.size());
  table.classes = table.layer[count - 1].out_channels;
  table.batch = request.options.batch;
  choose_losses(request, table);
  return {};
}

}  // namespace prumo::nets
