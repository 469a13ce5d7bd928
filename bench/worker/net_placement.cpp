// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "net_placement.hpp"

#include <prumo/inference/net_cost.hpp>
#include <prumo/nets/image_chunks.hpp>
#include <prumo/nets/split_plan.hpp>
#include <prumo/serving/memory_limit.hpp>
#include <prumo/serving/sampling.hpp>

#include <algorithm>

namespace prumo::worker {
namespace {

using protocol::bytes_product;
using protocol::bytes_sum;

protocol::cost_model model_of_layers(const nets::forward_plan& plan, std::size_t first, std::size_t last,
                                     std::int64_t batch) {
  return inference::cost_of_layers(plan.facts(), first, last, batch, dtype_size(plan.type()));
}

}  // namespace

net_placement place_net(const nets::forward_plan& plan, std::int64_t batch, std::int64_t images,
                        std::size_t cache_bytes, bool transferred) {
  const auto width = static_cast<std::int64_t>(dtype_size(plan.type()));
  net_placement place;
  place.batch = batch;
  place.batch_pixels = bytes_product(batch, plan.net().input.size());
  place.batch_results = bytes_product(batch, plan.facts().classes);
  const std::int64_t slot_bytes = bytes_product(place.batch_pixels, width);
  const std::int64_t all_images = images / batch + (images % batch == 0 ? 0 : 1);
  const auto cold = static_cast<std::int64_t>(protocol::cold_copies(static_cast<std::size_t>(slot_bytes), cache_bytes));
  place.slots = std::max<std::int64_t>(1, std::min(cold, all_images));
  const std::int64_t arena = bytes_product(batch, plan.arena_elements(1));
  std::int64_t numbers = bytes_sum(plan.weights_elements(), bytes_sum(arena, place.batch_results));
  numbers = bytes_sum(numbers, bytes_product(place.slots, place.batch_pixels));
  place.device_bytes = bytes_sum(bytes_product(numbers, width), place.batch_pixels);
  if (transferred) {
    const nets::split_plan parts(plan);
    const nets::image_chunks chunks(batch, plan.net().input.size());
    const std::int64_t together = parts.images_together(chunks, batch);
    const std::int64_t of_chunk = bytes_product(chunks.largest(), plan.net().input.size());
    std::int64_t between = bytes_product(chunks.largest(), parts.before_dense.arena_elements(1));
    if (parts.from_dense) {
      // Both parts use the same arena, one after the other.
      between = std::max(between, bytes_product(together, parts.from_dense->arena_elements(1)));
      between = bytes_sum(between, bytes_product(together, parts.features()));
    }
    const std::int64_t converted = bytes_product(bytes_sum(of_chunk, bytes_sum(between, place.batch_results)), width);
    place.device_bytes = bytes_sum(place.device_bytes, bytes_sum(bytes_product(2, of_chunk), converted));
  }
  // The bytes of the slots, the results, and the numbers of the weights.
  place.host_bytes =
      bytes_sum(bytes_product(place.slots, place.batch_pixels), bytes_product(place.batch_results, width));
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
