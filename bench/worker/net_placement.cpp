// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "net_placement.hpp"

#include <prumo/nets/image_chunks.hpp>
#include <prumo/serving/sampling.hpp>

#include <algorithm>
#include <limits>

namespace prumo::worker {
namespace {

constexpr std::int64_t beyond_any_machine = std::numeric_limits<std::int64_t>::max();

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? beyond_any_machine : result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? beyond_any_machine : result;
}

/// What layers [first, last) read and write at least for a batch.
double least_bytes(const nets::forward_plan& plan, std::size_t first, std::size_t last, std::int64_t batch) {
  const auto& layers = plan.facts().layers;
  double numbers = static_cast<double>(batch) * (static_cast<double>(layers[first].input.size()) +
                                                 static_cast<double>(layers[last - 1].output.size()));
  for (std::size_t layer = first; layer < last; ++layer) {
    for (const nets::parameter& it : layers[layer].parameters) numbers += static_cast<double>(it.size());
  }
  return numbers * static_cast<double>(dtype_size(plan.type()));
}

protocol::cost_model model_of_layers(const nets::forward_plan& plan, std::size_t first, std::size_t last,
                                     std::int64_t batch) {
  double flops = 0;
  for (std::size_t layer = first; layer < last; ++layer) {
    flops += static_cast<double>(plan.facts().layers[layer].flops_inside);
  }
  const auto images = static_cast<double>(batch);
  return {least_bytes(plan, first, last, batch), flops * images, images, "vector"};
}

}  // namespace

net_placement place_net(const nets::forward_plan& plan, std::int64_t batch, std::int64_t images,
                        std::size_t cache_bytes, bool transferred) {
  const auto width = static_cast<std::int64_t>(dtype_size(plan.type()));
  net_placement place;
  place.batch = batch;
  place.batch_pixels = product(batch, plan.net().input.size());
  place.batch_results = product(batch, plan.facts().classes);
  const std::int64_t slot_bytes = product(place.batch_pixels, width);
  const std::int64_t all_images = images / batch + (images % batch == 0 ? 0 : 1);
  const auto cold = static_cast<std::int64_t>(protocol::cold_copies(static_cast<std::size_t>(slot_bytes), cache_bytes));
  place.slots = std::max<std::int64_t>(1, std::min(cold, all_images));
  const std::int64_t arena = product(batch, plan.arena_elements(1));
  std::int64_t numbers = sum(plan.weights_elements(), sum(arena, place.batch_results));
  numbers = sum(numbers, product(place.slots, place.batch_pixels));
  place.device_bytes = sum(product(numbers, width), place.batch_pixels);
  if (transferred) {
    const std::int64_t chunk = nets::image_chunks(batch, plan.net().input.size()).largest();
    const std::int64_t of_chunk = product(chunk, plan.net().input.size());
    const std::int64_t between = sum(of_chunk, product(chunk, plan.arena_elements(1)));
    const std::int64_t converted = product(sum(between, place.batch_results), width);
    place.device_bytes = sum(place.device_bytes, sum(product(2, of_chunk), converted));
  }
  // The bytes of the slots, the results, and the numbers of the weights.
  place.host_bytes = sum(product(place.slots, place.batch_pixels), product(place.batch_results, width));
  return place;
}

std::vector<protocol::step_description> describe_steps(const nets::forward_plan& plan, std::int64_t batch) {
  std::vector<protocol::step_description> steps;
  for (std::size_t step = 0; step < plan.steps(); ++step) {
    const auto [first, last] = plan.step_layers(step);
    protocol::step_description it{plan.step_name(step), {}, model_of_layers(plan, first, last, batch)};
    for (std::size_t layer = first; layer < last; ++layer) it.layers.push_back(plan.facts().layers[layer].name);
    steps.push_back(std::move(it));
  }
  return steps;
}

protocol::cost_model model_of(const nets::forward_plan& plan, std::int64_t batch) {
  return model_of_layers(plan, 0, plan.net().layers.size(), batch);
}

}  // namespace prumo::worker
