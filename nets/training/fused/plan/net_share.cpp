// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "net_share.hpp"

#include "read_layers.hpp"

#include <algorithm>

namespace prumo::nets {
namespace {

/// A dense layer of fewer weights is whole in each team if its x is.
constexpr int most_whole_weights = 2048;

}  // namespace

std::string choose_shares(const step_table& table, net_share& share) {
  bool shares_y = false, shares_weights = false;  // of the layer before; of any dense layer
  for (int i = 0; i < table.layers; ++i) {
    const step_layer& it = table.layer[i];
    layer_share& of = share.layer[i];
    of = {};
    if (it.kind == step_kind::shared_convolution) return "does not share nets with a filter for all maps among teams";
    if (it.kind == step_kind::convolution) {
      of.kind = share_kind::channels;
      of.gathers = shares_y;
      of.below = it.below;
      shares_y = true;
    } else if (it.kind != step_kind::dense) {
      of.kind = shares_y ? share_kind::channels : share_kind::whole;
    } else {
      const bool is_small = i + 1 == table.layers || it.weight_count() <= most_whole_weights;
      of.kind = shares_y ? share_kind::inputs : is_small ? share_kind::whole : share_kind::outputs;
      of.weights_apart = it.in_size();
      shares_y = of.kind == share_kind::outputs;
      shares_weights = shares_weights || of.kind != share_kind::whole;
    }
  }
  return shares_weights ? "" : "shares nothing of a single dense layer among teams";
}

planned_tasks plan_gradient_tasks(const step_layer& it, std::int64_t element_bytes) {
  planned_tasks result;
  const int threads = element_bytes == sizeof(float) ? column_threads<float> : column_threads<double>;
  result.tasks = std::max(1, (it.out_channels + 1) / 2 * it.in_channels * it.filter_width);
  result.slices = std::clamp(threads / result.tasks, 1, it.gradient_places.of_an_image);
  result.by_tasks = prumo::detail::index_divider(result.tasks);
  return result;
}

void take_share(const step_table& whole, step_table& table, net_share& share) {
  for (int i = 0; i < table.layers; ++i) {
    const step_layer& of_all = whole.layer[i];
    step_layer& it = table.layer[i];
    layer_share& of = share.layer[i];
    const bool has_inputs = of.kind == share_kind::inputs || (of.kind == share_kind::channels && !it.has_filter());
    const even_parts parts(has_inputs ? of_all.in_channels : of_all.out_channels, share.teams);
    const int begin = parts.begin(share.team), count = parts.count(share.team);
    of.first = begin;
    if (of.kind == share_kind::inputs) {
      it.in_channels = count;
      it.weights = of_all.weights + begin * of_all.in_height * of_all.in_width;
    } else if (of.kind != share_kind::whole) {
      it.out_channels = count;
      if (has_inputs) it.in_channels = count;
      if (it.weights >= 0) it.weights = of_all.weights + begin * (of_all.weight_count() / of_all.out_channels);
      if (it.bias >= 0) it.bias = of_all.bias + begin;
    }
    if (of.gathers) it.below = activation::none;
    set_grids(it);
  }
}

}  // namespace prumo::nets
