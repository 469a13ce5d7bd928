// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layer_operations.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace prumo::peers {
namespace {

using protocol::named_number;

operation layer(const char* op, const char* description, operation_shape shape, int inputs,
                std::vector<named_number> parameters) {
  operation made;
  made.op = op;
  made.description = description;
  made.shape = shape;
  made.inputs = inputs;
  made.parameters = std::move(parameters);
  return made;
}

const named_number activation{"activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 0};

window_side side_of(std::int64_t extent, std::int64_t window, std::int64_t stride, std::int64_t padding,
                    bool round_up) {
  const std::int64_t room = extent + 2 * padding - window;
  std::int64_t places = room < 0 ? 0 : room / stride + 1;
  if (round_up && room >= 0 && room % stride != 0 && places * stride < extent + padding) ++places;
  return {extent, window, stride, padding, places};
}

}  // namespace

void add_layer_operations(std::vector<operation>& all) {
  all.push_back(layer("convolution", "y = pool(act(w * x + bias)) for images x and filters w",
                      operation_shape::convolution, 2,
                      {{"stride", "the distance of neighbouring places of the filter", 1},
                       {"padding", "rows and columns of zeros at each side", 0},
                       {"bias", "1 where y has a bias for each channel", 0},
                       activation,
                       {"pooling", "0 none, 1 the maximum of each window, 2 its mean", 0},
                       {"window", "rows and columns of a window of the pooling, and its strides", 2},
                       {"round_up", "1 where windows that are partly outside count, too", 0}}));
  const std::vector<named_number> of_windows = {{"window", "rows and columns of a window", 2},
                                                {"stride", "the distance of neighbouring windows", 2},
                                                {"padding", "rows and columns that are added at each side", 0},
                                                {"round_up", "1: windows that are partly outside count, too", 0}};
  all.push_back(layer("max_pool", "the largest element of each window", operation_shape::pooling, 1, of_windows));
  all.back().reduces_by = reduction_kind::max;
  all.push_back(layer("average_pool", "the mean of each window's elements", operation_shape::pooling, 1, of_windows));
  all.back().reduces_by = reduction_kind::mean;
  named_number after_dense = activation;
  after_dense.fallback = 1;
  all.push_back(layer("dense", "y = act(x w^T + bias), a layer of a net", operation_shape::dense, 3,
                      {{"bias", "1 where y has a bias for each column", 1}, after_dense}));
}

std::int64_t layer_extents::* layer_member(std::string_view name) {
  using it = layer_extents;
  constexpr std::array<std::pair<std::string_view, std::int64_t it::*>, 17> members = {
      {{"images", &it::images},
       {"in_channels", &it::in_channels},
       {"channels", &it::in_channels},
       {"inputs", &it::in_channels},
       {"height", &it::height},
       {"width", &it::width},
       {"out_channels", &it::out_channels},
       {"features", &it::out_channels},
       {"filter_rows", &it::filter_rows},
       {"filter_columns", &it::filter_columns},
       {"stride", &it::stride},
       {"padding", &it::padding},
       {"bias", &it::bias},
       {"activation", &it::activation},
       {"pooling", &it::pooling},
       {"window", &it::window},
       {"round_up", &it::round_up}}};
  return std::ranges::find(members, name, &std::pair<std::string_view, std::int64_t it::*>::first)->second;
}

std::vector<named_number> layer_axes(const operation& what) {
  switch (what.shape) {
    case operation_shape::convolution:
      return {{"images", "images of x", {}},
              {"in_channels", "channels of x", 4},
              {"height", "rows of an image of x", 40},
              {"width", "columns of an image of x", 40},
              {"out_channels", "channels of y", 16},
              {"filter_rows", "rows of a filter", 7},
              {"filter_columns", "columns of a filter", 7}};
    case operation_shape::pooling:
      return {{"images", "images of x", {}},
              {"channels", "channels of an image", 6},
              {"height", "rows of an image", 44},
              {"width", "columns of an image", 44}};
    default: break;
  }
  return {{"images", "rows of x", {}}, {"inputs", "columns of x", 400}, {"features", "columns of y", 120}};
}

window_sides filter_sides(const layer_extents& it) {
  return {side_of(it.height, it.filter_rows, it.stride, it.padding, false),
          side_of(it.width, it.filter_columns, it.stride, it.padding, false)};
}
window_sides following_sides(const layer_extents& it) {
  const window_sides of = filter_sides(it);
  return {side_of(of.rows.places, it.window, it.window, 0, it.round_up != 0),
          side_of(of.columns.places, it.window, it.window, 0, it.round_up != 0)};
}
window_sides pooling_sides(const layer_extents& it) {
  return {side_of(it.height, it.window, it.stride, it.padding, it.round_up != 0),
          side_of(it.width, it.window, it.stride, it.padding, it.round_up != 0)};
}
window_sides result_sides(const operation& what, const layer_extents& it) {
  if (what.shape == operation_shape::pooling) return pooling_sides(it);
  return it.pooling != 0 ? following_sides(it) : filter_sides(it);
}

std::vector<array_extent> layer_arrays(const operation& what, const layer_extents& it, dtype type) {
  const std::int64_t x = it.images * it.in_channels * it.height * it.width;
  std::vector<array_extent> arrays = {{x, true, type}};
  if (what.shape == operation_shape::pooling) {
    const window_sides of = pooling_sides(it);
    arrays.push_back({it.images * it.in_channels * of.rows.places * of.columns.places, false, type});
    return arrays;
  }
  arrays.push_back({it.out_channels * it.in_channels * it.filter_rows * it.filter_columns, true, type});
  if (it.bias != 0) arrays.push_back({it.out_channels, true, type});
  std::int64_t places = 1;
  if (what.shape == operation_shape::convolution) {
    const window_sides of = result_sides(what, it);
    places = of.rows.places * of.columns.places;
  }
  arrays.push_back({it.images * it.out_channels * places, false, type});
  return arrays;
}

double layer_elements(const operation&, const layer_extents& it) {
  const auto product = [](auto... factors) { return (static_cast<double>(factors) * ...); };
  const double area = product(it.height + 2 * it.padding, it.width + 2 * it.padding);
  return product(it.images, it.in_channels) * area + product(it.images, it.out_channels) * area +
         product(it.out_channels, it.in_channels, it.filter_rows, it.filter_columns);
}

protocol::cost_model layer_model(const operation& what, const layer_extents& it, dtype type) {
  double elements = 0;
  const std::vector<array_extent> arrays = layer_arrays(what, it, type);
  for (const array_extent& each : arrays) elements += static_cast<double>(each.elements);
  const double bytes = elements * static_cast<double>(bytes_of(type));
  const auto results = static_cast<double>(arrays.back().elements);
  switch (what.shape) {
    case operation_shape::pooling: return {bytes, static_cast<double>(arrays.front().elements), results, "vector"};
    case operation_shape::convolution: {
      const window_sides of = filter_sides(it);
      const auto sums = static_cast<double>(it.images * it.out_channels * of.rows.places * of.columns.places);
      return {bytes, 2 * sums * static_cast<double>(it.in_channels * it.filter_rows * it.filter_columns), results,
              "vector"};
    }
    default: break;
  }
  constexpr double of_activation[] = {0, 0, 3, 1, 5, 8};
  const double each = 2 * static_cast<double>(it.in_channels) + (it.bias != 0 ? 1 : 0) + of_activation[it.activation];
  return {bytes, each * results, results, "tensor"};
}

void fit_images(const operation& what, layer_extents& it, std::int64_t elements) {
  const std::int64_t other = what.shape == operation_shape::dense ? it.out_channels : it.height * it.width;
  it.images = std::max<std::int64_t>(
      1, elements / std::max<std::int64_t>(1, it.in_channels) / std::max<std::int64_t>(1, other));
}

void require_layer(const operation& what, const layer_extents& it) {
  const bool is_known = it.stride >= 1 && it.window >= 1 && it.padding >= 0 && it.activation >= 0 &&
                        it.activation <= 5 && it.pooling >= 0 && it.pooling <= 2;
  if (is_known) return;
  throw protocol::request_error(protocol::error_kind::usage,
                                what.op +
                                    ": strides and windows are 1 or more, paddings 0 or more, activations 0 to 5, "
                                    "poolings 0 to 2");
}

std::string why_invalid_layer(const operation& what, const layer_extents& it) {
  if (what.shape == operation_shape::dense) return "";
  const bool is_pooling = what.shape == operation_shape::pooling;
  const std::int64_t rows = is_pooling ? it.window : it.filter_rows;
  const std::int64_t columns = is_pooling ? it.window : it.filter_columns;
  if (rows < 1 || columns < 1) return "the filter is empty";
  if (it.padding >= rows || it.padding >= columns) return "the padding is not smaller than the filter or window";
  const window_sides of = result_sides(what, it);
  return it.height < 1 || it.width < 1 || of.rows.places < 1 || of.columns.places < 1
             ? "the image is smaller than the filter or window"
             : "";
}

}  // namespace prumo::peers
