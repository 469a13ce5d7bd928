// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layers_pass.hpp"

#include "step_kernels.hpp"
#include <prumo/activation_backward.hpp>
#include <prumo/arithmetic.hpp>
#include <prumo/convolution.hpp>
#include <prumo/convolution_backward.hpp>
#include <prumo/dense.hpp>
#include <prumo/dense_backward.hpp>
#include <prumo/detail/image_rows.hpp>
#include <prumo/loss.hpp>
#include <prumo/nets/detail/layer_arrays.hpp>
#include <prumo/nets/overloaded.hpp>
#include <prumo/optimizer.hpp>
#include <prumo/pooling.hpp>
#include <prumo/pooling_backward.hpp>
#include <prumo/reduction.hpp>
#include <prumo/softmax.hpp>

#include <algorithm>
#include <string_view>
#include <variant>

namespace prumo::nets {
namespace {

using layer_arrays::aligned;
using layer_arrays::array_at;
using layer_arrays::as_filter;
using layer_arrays::channels_as_images;
using layer_arrays::function_of;
using layer_arrays::results_at;
using layer_arrays::window_of;

/// A library's product may be chosen by trial, or cut by the number of threads. Then the bits would differ from run to
/// run.
constexpr std::string_view repeatable_product = "portable";

/// A convolution that would become a library's product.
constexpr std::string_view unrolled = "unrolled_gemm";

activation activation_of(const layer& which) {
  return std::visit(
      overloaded{[](const pooling&) { return activation::none; }, [](const softmax&) { return activation::none; },
                 [](const auto& it) { return it.activate; }},
      which);
}

template <class Options, class Layer>
Options filter_options(const Layer& it) {
  Options options;
  options.row_stride = it.stride.height;
  options.column_stride = it.stride.width;
  options.row_padding = it.padding.height;
  options.column_padding = it.padding.width;
  return options;
}

void convolve_repeatably(context_ref ctx, const array_ref& x, const array_ref& w, const array_ref& y,
                         convolution_options options) {
  if (convolution_implementation(ctx, x, w, y, options) == unrolled) options.implementation = repeatable_product;
  convolve(ctx, x, w, y, options);
}

}  // namespace

gradient_divisors divisors_of(const training_task& task, std::size_t which) {
  if (task.options.loss != loss::original) return {};
  const layer_facts& facts = task.plan.facts().layers[which];
  const layer& it = task.plan.net().layers[which];
  if (which == 0 && std::holds_alternative<convolution>(it)) {
    const std::int64_t places = facts.output.height * facts.output.width;
    return {places, places};
  }
  if (std::holds_alternative<shared_convolution>(it)) return {1, facts.output.size()};
  return {};
}

layers_pass::layers_pass(const training_task& task) : task_(task) {
  const net_facts& facts = task.plan.facts();
  const std::int64_t batch = std::min(task.options.batch, task.images);
  std::int64_t next = aligned(net().input.size() * batch);
  std::size_t parameter = 0;
  bool has_parameters = false;
  last_ = net().layers.size() - 1;
  for (std::size_t which = 0; which < net().layers.size(); ++which) {
    const layer_facts& of_layer = facts.layers[which];
    placed_layer placed{parameter, next, true, activation_of(net().layers[which])};
    if (task.options.loss != loss::squared) {
      // Cross-entropies are taken of the scores.
      if (std::holds_alternative<softmax>(net().layers[which])) {
        placed.is_computed = false;
        last_ = which - 1;
        layers_.back().activate = activation::none;
      } else if (which + 1 == net().layers.size()) {
        placed.activate = activation::none;
      }
    }
    if (!of_layer.parameters.empty() && !has_parameters) {
      has_parameters = true;
      first_trained_ = which;
    }
    parameter += of_layer.parameters.size();
    next += aligned(of_layer.output.size() * batch);
    gradient_elements_ = std::max(gradient_elements_, aligned(of_layer.output.size() * batch));
    layers_.push_back(placed);
  }
  gradient_begin_ = next;
  targets_begin_ = next + 2 * gradient_elements_;
  square_begin_ = targets_begin_ + (task.takes_numbers() ? aligned(facts.classes * batch) : 0);
  arena_elements_ = square_begin_ + (task.takes_numbers() ? aligned(1) : 0);
}

array_ref layers_pass::input(const array_ref& arena, std::int64_t images) const {
  const image_shape& shape = net().input;
  return array_at(arena, 0, {images, shape.channels, shape.height, shape.width});
}

array_ref layers_pass::targets(const array_ref& arena, std::int64_t images) const {
  return array_at(arena, targets_begin_, {images, task_.plan.facts().classes});
}

array_ref layers_pass::results(const array_ref& arena, std::size_t which, std::int64_t images) const {
  return results_at(arena, layers_[which].results, net().layers[which], task_.plan.facts().layers[which].output,
                    images);
}

array_ref layers_pass::source(const array_ref& arena, std::size_t which, std::int64_t images) const {
  return which == 0 ? input(arena, images) : results(arena, which - 1, images);
}

array_ref layers_pass::gradient(const array_ref& arena, std::size_t which, std::int64_t images) const {
  const std::int64_t begin = gradient_begin_ + (which % 2 == 0 ? 0 : gradient_elements_);
  return results_at(arena, begin, net().layers[which], task_.plan.facts().layers[which].output, images);
}

array_ref layers_pass::parameter_at(const array_ref& flat, std::size_t which) const {
  const placed_parameter& at = task_.plan.parameters()[which];
  return array_at(flat, at.offset, at.what.extents);
}

void layers_pass::run(context_ref ctx, const array_ref& arena, const array_ref& labels, std::int64_t images) const {
  for (std::size_t which = 0; which <= last_; ++which) forward(ctx, arena, which, images);
  take_loss(ctx, arena, labels, images);
  for (std::size_t which = last_ + 1; which-- > first_trained_;) backward(ctx, arena, which, images);
  for (std::size_t which = 0; which < layers_.size(); ++which) divide(ctx, which);
  change_weights(ctx);
}

void layers_pass::forward(context_ref ctx, const array_ref& arena, std::size_t which, std::int64_t images) const {
  const array_ref x = source(arena, which, images), y = results(arena, which, images);
  const placed_layer& placed = layers_[which];
  const auto weight = [&](std::size_t place) { return parameter_at(task_.weights, placed.first_parameter + place); };
  const auto set_epilogue = [&](auto& options, bool has_bias) {
    options.activation = function_of(placed.activate);
    if (has_bias) options.bias = weight(1);
  };
  const auto convolve_images = [&](const convolution& it) {
    auto options = filter_options<convolution_options>(it);
    set_epilogue(options, it.bias);
    convolve_repeatably(ctx, x, weight(0), y, options);
  };
  const auto convolve_channels = [&](const shared_convolution& it) {
    auto options = filter_options<convolution_options>(it);
    set_epilogue(options, it.bias);
    convolve_repeatably(ctx, channels_as_images(x), as_filter(weight(0)), channels_as_images(y), options);
  };
  const auto pool = [&](const pooling& it) {
    const instance_ref& instance = ctx;
    if (it.kind == pooling_kind::maximum) {
      max_pool(instance, x, y, window_of(it));
    } else {
      average_pool(instance, x, y, window_of(it));
    }
  };
  const auto join = [&](const dense& it) {
    dense_options options;
    options.implementation = repeatable_product;
    set_epilogue(options, it.bias);
    prumo::dense(ctx, x, weight(0), y, options);
  };
  const auto normalise = [&](const softmax&) { prumo::softmax(ctx, prumo::detail::as_rows(x), y); };
  std::visit(overloaded{convolve_images, convolve_channels, pool, join, normalise}, net().layers[which]);
}

void layers_pass::take_loss(context_ref ctx, const array_ref& arena, const array_ref& labels,
                            std::int64_t images) const {
  if (task_.takes_numbers()) return take_distance(ctx, arena, images);
  const array_ref scores = results(arena, last_, images), gradients = gradient(arena, last_, images);
  const array_ref sums(task_.counters->sums, dtype::f64, {2}, {}, task_.weights.memory);
  const double scale = task_.options.loss == loss::original ? 1.0 : 1.0 / static_cast<double>(images);
  switch (task_.options.loss) {
    case loss::softmax: return softmax_cross_entropy(ctx, scores, labels, gradients, sums, {scale});
    case loss::sigmoid:
    case loss::original: return sigmoid_cross_entropy(ctx, scores, labels, gradients, sums, {scale});
    case loss::squared: return squared_error(ctx, scores, labels, gradients, sums, {scale});
  }
}

void layers_pass::take_distance(context_ref ctx, const array_ref& arena, std::int64_t images) const {
  const instance_ref& instance = ctx;
  const std::int64_t elements = images * task_.plan.facts().classes;
  const array_ref made = array_at(arena, layers_[last_].results, {elements});
  const array_ref difference = array_at(gradient(arena, last_, images), 0, {elements});
  const array_ref square = array_at(arena, square_begin_, std::span<const std::int64_t>{});
  axpby(instance, 1, made, -1, array_at(arena, targets_begin_, {elements}), difference);
  sum_of_squares(ctx, difference, square);
  add_half_to_loss(instance, task_, square);
  scale(instance, 1.0 / static_cast<double>(images), difference, difference);
}

void layers_pass::backward(context_ref ctx, const array_ref& arena, std::size_t which, std::int64_t images) const {
  const instance_ref& instance = ctx;
  const array_ref x = source(arena, which, images), y = results(arena, which, images);
  const array_ref dy = gradient(arena, which, images);
  const placed_layer& placed = layers_[which];
  const bool goes_on = which > first_trained_;
  const array_ref dx = goes_on ? gradient(arena, which - 1, images) : array_ref();
  const auto weight = [&](std::size_t place) { return parameter_at(task_.weights, placed.first_parameter + place); };
  const auto weight_gradient = [&](std::size_t place) {
    return parameter_at(task_.gradients, placed.first_parameter + place);
  };
  if (placed.activate != activation::none) activate_backward(instance, function_of(placed.activate), y, dy, dy);
  const auto convolve_images = [&](const convolution& it) {
    auto options = filter_options<convolution_backward_options>(it);
    if (goes_on) convolve_backward_data(ctx, dy, weight(0), dx, options);
    if (it.bias) options.bias = weight_gradient(1);
    convolve_backward_weights(ctx, x, dy, weight_gradient(0), options);
  };
  const auto convolve_channels = [&](const shared_convolution& it) {
    auto options = filter_options<convolution_backward_options>(it);
    const array_ref dy_maps = channels_as_images(dy);
    if (goes_on) convolve_backward_data(ctx, dy_maps, as_filter(weight(0)), channels_as_images(dx), options);
    if (it.bias) options.bias = weight_gradient(1);
    convolve_backward_weights(ctx, channels_as_images(x), dy_maps, as_filter(weight_gradient(0)), options);
  };
  const auto pool = [&](const pooling& it) {
    if (it.kind == pooling_kind::maximum) {
      max_pool_backward(instance, x, dy, dx, window_of(it));
    } else {
      average_pool_backward(instance, dy, dx, window_of(it));
    }
  };
  const auto join = [&](const dense& it) {
    dense_backward_options options;
    options.implementation = repeatable_product;
    if (goes_on) dense_backward_data(ctx, dy, weight(0), dx, options);
    if (it.bias) options.bias = weight_gradient(1);
    dense_backward_weights(ctx, x, dy, weight_gradient(0), options);
  };
  const auto normalise = [&](const softmax&) { softmax_backward(instance, y, dy, dx); };
  std::visit(overloaded{convolve_images, convolve_channels, pool, join, normalise}, net().layers[which]);
}

void layers_pass::divide(context_ref ctx, std::size_t which) const {
  const instance_ref& instance = ctx;
  const gradient_divisors divisors = divisors_of(task_, which);
  const std::size_t parameters = task_.plan.facts().layers[which].parameters.size();
  const auto divide_by = [&](std::size_t place, std::int64_t divisor) {
    if (divisor == 1 || place >= parameters) return;
    const placed_parameter& at = task_.plan.parameters()[layers_[which].first_parameter + place];
    const array_ref all = array_at(task_.gradients, at.offset, {at.what.size()});
    scale(instance, 1.0 / static_cast<double>(divisor), all, all);
  };
  divide_by(0, divisors.weights);
  divide_by(1, divisors.bias);
}

void layers_pass::change_weights(context_ref ctx) const {
  const instance_ref& instance = ctx;
  const auto number = [&](double* place) { return array_ref(place, dtype::f64, {1}, {}, task_.weights.memory); };
  const array_ref rate = number(&task_.counters->rate);
  switch (task_.options.optimizer) {
    case optimizer::sgd: return sgd(instance, rate, task_.gradients, task_.weights);
    case optimizer::momentum:
      return momentum(instance, rate, task_.options.momentum, task_.gradients, task_.first_moments, task_.weights);
    case optimizer::adam:
      return adam(instance, rate, number(&task_.counters->optimizer_step), task_.gradients, task_.first_moments,
                  task_.second_moments, task_.weights);
  }
}

}  // namespace prumo::nets
