// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/net_operations.hpp"

#include "terminal/program_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <variant>

namespace prumo::bench {
namespace {

/// The choices of `prumo bench` for a layer that is a convolution.
plan_options options_of(const nets::convolution& layer, const nets::image_shape& input) {
  plan_options options;
  options.ops = {"convolution"};
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  options.shapes = {{{"in_channels", number(input.channels)},
                     {"height", number(input.height)},
                     {"width", number(input.width)},
                     {"out_channels", number(layer.channels)},
                     {"filter_rows", number(layer.filter.height)},
                     {"filter_columns", number(layer.filter.width)}}};
  options.parameters = {{"stride", number(layer.stride.height)}, {"padding", number(layer.padding.height)}};
  options.data = {"resident"};
  return options;
}

}  // namespace

bench_plan plan_net_operations(const data::net& net, const inference_plan& plan, worker_fleet& fleet) {
  bench_plan whole;
  for (std::size_t place = 0; place < net.description.layers.size(); ++place) {
    const auto* layer = std::get_if<nets::convolution>(&net.description.layers[place]);
    if (layer == nullptr) continue;
    const nets::layer_facts& facts = net.facts.layers[place];
    if (layer->stride.height != layer->stride.width || layer->padding.height != layer->padding.width) {
      whole.notes.push_back(
          fmt::format("{} is left out as an operation by itself: its stride or padding differs "
                      "between rows and columns",
                      facts.name));
      continue;
    }
    plan_options options = options_of(*layer, facts.input);
    options.dtypes = plan.dtypes;
    for (const std::int64_t batch : plan.batches) {
      options.shapes.front()["images"] = static_cast<double>(batch);
      try {
        bench_plan part = make_plan(options, fleet);
        std::ranges::move(part.groups, std::back_inserter(whole.groups));
      } catch (const program_error& error) {
        whole.notes.push_back(fmt::format("{} of {} images is left out: {}", facts.name, batch, error.what()));
      }
    }
  }
  return whole;
}

}  // namespace prumo::bench
