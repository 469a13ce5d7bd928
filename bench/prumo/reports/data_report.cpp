// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/data_report.hpp"

#include "terminal/text_table.hpp"
#include "terminal/units.hpp"
#include <prumo/data/sha256.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace prumo::bench {
namespace {

std::string format_words(const data::idx_format& format) {
  return fmt::format("IDX{}{}",
                     format.header == data::idx_header::course ? " with the header of the course ECE408" : "",
                     format.gzip ? ", gzip" : "");
}

std::string shape_words(const nets::image_shape& shape) {
  return shape.height == 1 && shape.width == 1 ? fmt::format("{}", shape.channels)
                                               : fmt::format("{} x {} x {}", shape.channels, shape.height, shape.width);
}

/// Mean and standard deviation of bytes, with 255 as 1.
std::pair<double, double> mean_and_deviation(std::span<const std::uint8_t> bytes) {
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t value : bytes) ++counts[value];
  double sum = 0;
  double squares = 0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    const double share =
        static_cast<double>(counts[value]) / static_cast<double>(std::max<std::size_t>(bytes.size(), 1));
    const double level = static_cast<double>(value) / 255;
    sum += share * level;
    squares += share * level * level;
  }
  return {sum, std::sqrt(std::max(0.0, squares - sum * sum))};
}

std::string window_words(const nets::extent2& size) {
  return size.height == size.width ? fmt::format("{0} x {0}", size.height)
                                   : fmt::format("{} x {}", size.height, size.width);
}

/// A layer's own numbers, as they differ from the defaults.
struct layer_words {
  static std::string steps(const nets::extent2& stride, const nets::extent2& usual, const nets::extent2& padding) {
    std::string text;
    if (stride != usual) text += fmt::format(", stride {}", window_words(stride));
    if (padding != nets::extent2{0, 0}) text += fmt::format(", padding {}", window_words(padding));
    return text;
  }
  static std::string sum(bool bias, nets::activation activate) {
    return fmt::format(
        "{}{}", bias ? "" : ", no bias",
        activate == nets::activation::none ? std::string() : fmt::format(", {}", nets::name_of(activate)));
  }

  std::string operator()(const nets::convolution& it) const {
    return fmt::format("convolution {}{}{}", window_words(it.filter), steps(it.stride, {1, 1}, it.padding),
                       sum(it.bias, it.activate));
  }
  std::string operator()(const nets::shared_convolution& it) const {
    return fmt::format("one filter {} for all maps{}{}", window_words(it.filter), steps(it.stride, {1, 1}, it.padding),
                       sum(it.bias, it.activate));
  }
  std::string operator()(const nets::pooling& it) const {
    return fmt::format("{} of {}{}{}", it.kind == nets::pooling_kind::maximum ? "maximum" : "average",
                       window_words(it.window), steps(it.stride, it.window, it.padding),
                       it.round == nets::rounding::up ? ", rounded up" : "");
  }
  std::string operator()(const nets::dense& it) const { return "dense" + sum(it.bias, it.activate); }
  std::string operator()(const nets::softmax&) const { return "softmax"; }
};

std::string megaflops(std::int64_t flops) {
  return flops == 0 ? "" : fmt::format("{:.3f}", static_cast<double>(flops) / 1e6);
}

}  // namespace

std::string images_report(std::string_view name, const data::image_set& images) {
  const auto [mean, deviation] = mean_and_deviation(images.pixels);
  return fmt::format(
      "{}: {}\n  {} images of {} x {} x {} (channels, rows, columns)\n  mean {:.4f}, deviation {:.4f}, where 1 "
      "is white\n  SHA-256 of the pixels {}\n",
      sanitize(name), format_words(images.format), images.count, images.channels, images.height, images.width, mean,
      deviation, data::sha256_of(images.pixels));
}

std::string labels_report(std::string_view name, const data::label_set& labels) {
  std::array<std::int64_t, 256> counts{};
  for (const std::uint8_t value : labels.classes) ++counts[value];
  std::string classes;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    if (counts[value] > 0) classes += fmt::format("{}{}: {}", classes.empty() ? "" : ", ", value, counts[value]);
  }
  return fmt::format("{}: {}\n  {} labels{}{}\n  SHA-256 of the labels {}\n", sanitize(name),
                     format_words(labels.format), labels.classes.size(), classes.empty() ? "" : ", of each class ",
                     classes, data::sha256_of(labels.classes));
}

std::string net_report(const data::net& net, const text_style& style) {
  using align = text_table::align;
  text_table table({{"layer"}, {"what"}, {"output"}, {"weights", align::right}, {"MFLOP an image", align::right}});
  for (std::size_t i = 0; i < net.facts.layers.size(); ++i) {
    const nets::layer_facts& it = net.facts.layers[i];
    std::int64_t weights = 0;
    for (const nets::parameter& array : it.parameters) weights += array.size();
    table.add_row({{it.name},
                   {std::visit(layer_words{}, net.description.layers[i])},
                   {shape_words(it.output)},
                   {weights == 0 ? "" : fmt::format("{}", weights)},
                   {megaflops(it.flops)}});
  }
  std::string text = fmt::format("{}: images of {} (channels, rows, columns), {} classes\n",
                                 sanitize(net.description.name), shape_words(net.description.input), net.facts.classes);
  text += table.render(style);
  text += fmt::format("{} weights, {} MFLOP an image", net.facts.parameters, megaflops(net.facts.flops));
  if (net.facts.flops_inside != net.facts.flops) {
    text += fmt::format(" ({} without products with padding)", megaflops(net.facts.flops_inside));
  }
  return text + "\n";
}

std::string tensors_report(std::string_view name, const data::tensor_file& file, const text_style& style) {
  using align = text_table::align;
  std::int64_t numbers = 0;
  text_table table({{"array"}, {"type"}, {"shape"}, {"bytes", align::right}});
  for (const data::tensor& it : file.tensors) {
    numbers += it.size();
    table.add_row(
        {{it.name}, {it.type}, {fmt::format("{}", fmt::join(it.shape, " x "))}, {fmt::format("{}", it.bytes.size())}});
  }
  std::string text =
      fmt::format("{}: safetensors, {} arrays with {} numbers\n", sanitize(name), file.tensors.size(), numbers);
  for (const auto& [key, value] : file.metadata) text += fmt::format("  {}: {}\n", sanitize(key), sanitize(value));
  return file.tensors.empty() ? text : text + table.render(style);
}

}  // namespace prumo::bench
