// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/inference/net_cost.hpp>

namespace prumo::inference {

protocol::cost_model cost_of_layers(const nets::net_facts& facts, std::size_t first, std::size_t last,
                                    std::int64_t batch, std::size_t width) {
  const auto& layers = facts.layers;
  const auto images = static_cast<double>(batch);
  double numbers =
      images * (static_cast<double>(layers[first].input.size()) + static_cast<double>(layers[last - 1].output.size()));
  double flops = 0;
  for (std::size_t layer = first; layer < last; ++layer) {
    for (const nets::parameter& it : layers[layer].parameters) numbers += static_cast<double>(it.size());
    flops += static_cast<double>(layers[layer].flops_inside);
  }
  return {numbers * static_cast<double>(width), flops * images, images, "vector"};
}

protocol::cost_model cost_of_step(const nets::net_facts& facts, std::int64_t batch, std::size_t width) {
  const auto images = static_cast<double>(batch);
  double flops = 0;
  bool is_first = true;
  for (const nets::layer_facts& layer : facts.layers) {
    if (layer.parameters.empty()) continue;
    flops += (is_first ? 2 : 3) * static_cast<double>(layer.flops_inside);
    is_first = false;
  }
  const double bytes = images * static_cast<double>(facts.layers.front().input.size()) +
                       2 * static_cast<double>(facts.parameters) * static_cast<double>(width);
  return {bytes, flops * images, images, "vector"};
}

}  // namespace prumo::inference
