// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/check.hpp>
#include <prumo/convolution.hpp>
#include <prumo/dense.hpp>
#include <prumo/detail/image_rows.hpp>
#include <prumo/error.hpp>
#include <prumo/images.hpp>
#include <prumo/nets/detail/layer_arrays.hpp>
#include <prumo/nets/forward_plan.hpp>
#include <prumo/nets/overloaded.hpp>
#include <prumo/pooling.hpp>
#include <prumo/softmax.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <variant>

namespace prumo::nets {
namespace {

constexpr std::string_view operation = "prumo::nets::forward_plan";

using layer_arrays::aligned;
using layer_arrays::array_at;
using layer_arrays::as_filter;
using layer_arrays::channels_as_images;
using layer_arrays::function_of;
using layer_arrays::is_flat;
using layer_arrays::results_at;
using layer_arrays::window_of;

}  // namespace

/// What a step reads and writes.
struct forward_plan::step_arrays {
  array_ref x;
  array_ref y;
  const array_ref& weights;
};

forward_plan::forward_plan(const description& net, dtype type) : net_(net), facts_(facts_of(net)), type_(type) {
  if (!is_scalar_type(type)) {
    throw argument_error(std::string(operation) + ": expected the type f32, f64, f16 or bf16; got " +
                         std::string(dtype_name(type)));
  }
  for (const parameter& each : facts_.all_parameters()) {
    parameters_.push_back({each, weights_elements_});
    weights_elements_ += aligned(each.size());
  }
  std::size_t first_parameter = 0;
  for (std::size_t first = 0; first < net_.layers.size();) {
    planned_step next{facts_.layers[first].name, first, first + 1, first_parameter};
    const bool is_convolution = std::holds_alternative<convolution>(net_.layers[first]);
    if (is_convolution && next.last < net_.layers.size() && std::holds_alternative<pooling>(net_.layers[next.last])) {
      next.name += "+" + facts_.layers[next.last].name;
      ++next.last;
    }
    first_parameter += facts_.layers[first].parameters.size();
    first = next.last;
    steps_.push_back(next);
    // The last step writes y.
    if (next.last < net_.layers.size()) {
      half_elements_ = std::max(half_elements_, aligned(facts_.layers[next.last - 1].output.size()));
    }
  }
}

std::pair<std::size_t, std::size_t> forward_plan::step_layers(std::size_t which) const {
  return {steps_[which].first, steps_[which].last};
}

array_ref forward_plan::weight(const array_ref& weights, std::size_t which) const {
  return array_at(weights, parameters_[which].offset, parameters_[which].what.extents);
}

/// Neighbouring steps use different halves of the arena.
array_ref forward_plan::between(const array_ref& arena, std::size_t which, std::int64_t images) const {
  const std::size_t last = steps_[which].last - 1;
  const image_shape& shape = facts_.layers[last].output;
  const std::int64_t offset = which % 2 == 0 ? 0 : half_elements_ * images;
  return results_at(arena, offset, net_.layers[last], shape, images);
}

void forward_plan::check_arrays(const array_ref& x, const array_ref& weights, const array_ref& arena,
                                const array_ref& y) const {
  const std::initializer_list<named_array> all = {{"x", x}, {"weights", weights}, {"arena", arena}, {"y", y}};
  for (const named_array& each : all) {
    if (each.array.type != type_) {
      check::throw_argument(operation, "arrays of " + std::string(dtype_name(type_)) + ", the type of the plan",
                            {each});
    }
  }
  check::rank(operation, {"x", x}, 4);
  const image_shape& input = net_.input;
  if (x.extents[1] != input.channels || x.extents[2] != input.height || x.extents[3] != input.width) {
    check::throw_shape(operation,
                       "images [n x " + std::to_string(input.channels) + " x " + std::to_string(input.height) + " x " +
                           std::to_string(input.width) + "], as the net '" + net_.name + "' takes them",
                       {{"x", x}});
  }
  const auto check_memory = [&](const named_array& memory, std::int64_t elements) {
    check::rank(operation, memory, 1);
    const bool has_gaps = memory.array.extents[0] > 1 && memory.array.strides[0] != 1;
    if (memory.array.extents[0] >= elements && !has_gaps) return;
    check::throw_shape(operation, std::to_string(elements) + " elements or more, without gaps", {memory});
  };
  check_memory({"weights", weights}, weights_elements_);
  check_memory({"arena", arena}, arena_elements(x.extents[0]));
  const layer& first = net_.layers.front();
  const bool takes_rows = std::holds_alternative<dense>(first) || std::holds_alternative<shared_convolution>(first);
  if (takes_rows && !detail::are_images_dense(x)) {
    check::throw_argument(operation, "images without gaps, because the first layer of the net takes an image as a row",
                          {{"x", x}});
  }
  const image_shape& output = facts_.layers.back().output;
  const bool flat = is_flat(net_.layers.back());
  check::rank(operation, {"y", y}, flat ? 2 : 4);
  const bool fits = y.extents[0] == x.extents[0] && y.extents[1] == output.channels &&
                    (flat || (y.extents[2] == output.height && y.extents[3] == output.width));
  if (!fits) {
    check::throw_shape(operation,
                       flat ? "y [images x " + std::to_string(output.channels) + "]"
                            : "y [images x " + std::to_string(output.channels) + " x " + std::to_string(output.height) +
                                  " x " + std::to_string(output.width) + "]",
                       {{"x", x}, {"y", y}});
  }
}

namespace {

/// What a layer with filters tells of a convolution.
template <class Layer>
convolution_options filter_options(const Layer& of, const std::optional<array_ref>& bias) {
  convolution_options options;
  options.row_stride = of.stride.height;
  options.column_stride = of.stride.width;
  options.row_padding = of.padding.height;
  options.column_padding = of.padding.width;
  options.bias = bias;
  options.activation = function_of(of.activate);
  return options;
}

}  // namespace

convolution_options forward_plan::options_of(const planned_step& which, const convolution& of,
                                             const array_ref& weights) const {
  const auto bias = of.bias ? std::optional(weight(weights, which.first_parameter + 1)) : std::nullopt;
  convolution_options options = filter_options(of, bias);
  if (which.last - which.first == 2) {
    const auto& pool = std::get<pooling>(net_.layers[which.last - 1]);
    options.pooling = pool.kind == pooling_kind::maximum ? convolution_pooling::maximum : convolution_pooling::mean;
    options.window = window_of(pool);
  }
  return options;
}

void forward_plan::enqueue(context_ref ctx, const planned_step& which, const step_arrays& arrays) const {
  const auto weight_at = [&](std::size_t place) { return weight(arrays.weights, which.first_parameter + place); };
  const auto bias_of = [&](const auto& it) { return it.bias ? std::optional<array_ref>(weight_at(1)) : std::nullopt; };
  const auto convolve_images = [&](const convolution& it) {
    convolve(ctx, arrays.x, weight_at(0), arrays.y, options_of(which, it, arrays.weights));
  };
  const auto convolve_channels = [&](const shared_convolution& it) {
    convolve(ctx, channels_as_images(arrays.x), as_filter(weight_at(0)), channels_as_images(arrays.y),
             filter_options(it, bias_of(it)));
  };
  const auto pool = [&](const pooling& it) {
    const instance_ref& instance = ctx;
    if (it.kind == pooling_kind::maximum) {
      max_pool(instance, arrays.x, arrays.y, window_of(it));
    } else {
      average_pool(instance, arrays.x, arrays.y, window_of(it));
    }
  };
  const auto join = [&](const dense& it) {
    dense_options options;
    options.activation = function_of(it.activate);
    options.bias = bias_of(it);
    prumo::dense(ctx, arrays.x, weight_at(0), arrays.y, options);
  };
  const auto normalise = [&](const softmax&) { prumo::softmax(ctx, detail::as_rows(arrays.x), arrays.y); };
  std::visit(overloaded{convolve_images, convolve_channels, pool, join, normalise}, net_.layers[which.first]);
}

void forward_plan::run_step(context_ref ctx, std::size_t which, const array_ref& x, const array_ref& weights,
                            const array_ref& arena, const array_ref& y) const {
  if (which >= steps_.size()) {
    throw argument_error(std::string(operation) + ": there is no step " + std::to_string(which) + "; the net has " +
                         std::to_string(steps_.size()) + " steps");
  }
  check_arrays(x, weights, arena, y);
  enqueue_step(ctx, which, x, weights, arena, y);
}

void forward_plan::run(context_ref ctx, const array_ref& x, const array_ref& weights, const array_ref& arena,
                       const array_ref& y) const {
  run_from(ctx, 0, x, weights, arena, y);
}

void forward_plan::run_from(context_ref ctx, std::size_t step, const array_ref& x, const array_ref& weights,
                            const array_ref& arena, const array_ref& y) const {
  check_arrays(x, weights, arena, y);
  for (std::size_t which = step; which < steps_.size(); ++which) enqueue_step(ctx, which, x, weights, arena, y);
}

std::size_t forward_plan::take_bytes(context_ref ctx, const array_ref& bytes, const array_ref& numbers,
                                     const array_ref& weights, const array_ref& arena, const array_ref& y) const {
  check_arrays(numbers, weights, arena, y);
  const image_options as_shares;  // of 255
  const planned_step& first = steps_.front();
  const auto* const filters = std::get_if<convolution>(&net_.layers[first.first]);
  const bool is_done = filters != nullptr &&
                       convolve_bytes(ctx, bytes, as_shares.scale, weight(weights, first.first_parameter),
                                      step_result(0, bytes.extents[0], arena, y), options_of(first, *filters, weights));
  if (is_done) return 1;
  const instance_ref& instance = ctx;
  convert_images(instance, bytes, numbers, as_shares);
  return 0;
}

void forward_plan::enqueue_step(context_ref ctx, std::size_t which, const array_ref& x, const array_ref& weights,
                                const array_ref& arena, const array_ref& y) const {
  const std::int64_t images = x.extents[0];
  if (images == 0) return;
  enqueue(ctx, steps_[which],
          {which == 0 ? x : between(arena, which - 1, images), step_result(which, images, arena, y), weights});
}

}  // namespace prumo::nets
