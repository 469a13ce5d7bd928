// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backward_problem.hpp"
#include <prumo/check.hpp>
#include <prumo/convolution_backward.hpp>
#include <prumo/spaces.hpp>

#include <span>
#include <string>
#include <vector>

namespace prumo::detail {
namespace {

constexpr std::string_view data_operation = "prumo::convolve_backward_data";
constexpr std::string_view weights_operation = "prumo::convolve_backward_weights";

std::string describe_geometry(std::string_view type, const backend::convolution_geometry& of) {
  const auto square = [](std::int64_t rows, std::int64_t columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
  };
  return std::string(type) + " " + std::to_string(of.images) + " images, " + std::to_string(of.in_channels) +
         " channels of " + square(of.height, of.width) + ", " + std::to_string(of.out_channels) + " filters of " +
         square(of.filter_rows, of.filter_columns) + ", strides " + square(of.row_stride, of.column_stride);
}

/// The gradient of the images as backend::dispatch() wants it.
template <class T>
struct backward_data_operation {
  using problem = backend::backward_data_problem<T>;
  using prepared = backend::prepared_convolution;
  template <class Exec>
  using shortcut = backend::shortcut<Exec, problem>;

  static constexpr std::string_view name = data_operation;
  static constexpr std::string_view type = scalar_traits<T>::name;

  static std::string describe(const problem& of) { return describe_geometry(type, of); }
  static std::string region_details(const problem&) { return std::string(type); }

  template <class Exec>
  static std::span<const backend::backward_data_candidate<Exec, T>> candidates(const problem&) {
    static const std::vector<backend::backward_data_candidate<Exec, T>> list = [] {
      std::vector<backend::backward_data_candidate<Exec, T>> all;
      if (auto tensor = backend::tensor_backward_data_candidate<Exec, T>()) all.push_back(*std::move(tensor));
      all.push_back(backend::direct_backward_data_candidate<Exec, T>());
      all.push_back(backend::portable_backward_data_candidate<Exec, T>());
      return all;
    }();
    return list;
  }

  template <class Exec>
  static std::optional<shortcut<Exec>> shortcut_of(const problem& of) {
    if (of.is_empty()) return shortcut<Exec>{"none", "dx is empty", nullptr};
    return std::nullopt;
  }
};

/// The gradient of the filters as backend::dispatch() wants it.
template <class T>
struct backward_weights_operation {
  using problem = backend::backward_weights_problem<T>;
  using prepared = backend::prepared_backward_weights;
  template <class Exec>
  using shortcut = backend::shortcut<Exec, problem>;

  static constexpr std::string_view name = weights_operation;
  static constexpr std::string_view type = scalar_traits<T>::name;

  static std::string describe(const problem& of) { return describe_geometry(type, of); }
  static std::string region_details(const problem&) { return std::string(type); }

  template <class Exec>
  static std::span<const backend::backward_weights_candidate<Exec, T>> candidates(const problem&) {
    static const std::vector<backend::backward_weights_candidate<Exec, T>> list = [] {
      std::vector<backend::backward_weights_candidate<Exec, T>> all;
      if constexpr (is_host_space<Exec>) {
        all.push_back(backend::direct_backward_weights_candidate<Exec, T>());
      } else {
        all.push_back(backend::direct_device_weights_candidate<Exec, T>());
      }
      all.push_back(backend::portable_backward_weights_candidate<Exec, T>());
      return all;
    }();
    return list;
  }

  template <class Exec>
  static std::optional<shortcut<Exec>> shortcut_of(const problem& of) {
    if (of.outputs() == 0) return shortcut<Exec>{"none", "dw is empty", nullptr};
    return std::nullopt;
  }
};

/// The arguments of a call. x is dx in the gradient of the images, and w is dw in that of the filters.
struct backward_call {
  std::string_view operation;
  named_array x;
  named_array w;
  named_array y;
  const convolution_backward_options& options;
};

void check_types_and_ranks(const backward_call& call) {
  check::same_scalar_type(call.operation, {call.x, call.w, call.y});
  for (const named_array& each : {call.x, call.w, call.y}) check::rank(call.operation, each, 4);
}

void check_strides_and_paddings(const backward_call& call) {
  const convolution_backward_options& options = call.options;
  const array_ref& w = call.w.array;
  const bool has_filter = w.extents[2] > 0 && w.extents[3] > 0;
  if (has_filter && options.row_stride >= 1 && options.column_stride >= 1 && options.row_padding >= 0 &&
      options.column_padding >= 0 && options.row_padding < w.extents[2] && options.column_padding < w.extents[3]) {
    return;
  }
  check::throw_argument(call.operation,
                        "filters with a row and a column at least, strides of 1 or more (got " +
                            std::to_string(options.row_stride) + ", " + std::to_string(options.column_stride) +
                            "), and paddings that are smaller than the filter (got " +
                            std::to_string(options.row_padding) + ", " + std::to_string(options.column_padding) + ")",
                        {call.w});
}

void check_extents(const backward_call& call) {
  const array_ref &x = call.x.array, &w = call.w.array, &y = call.y.array;
  const convolution_backward_options& options = call.options;
  const std::int64_t rows = convolved_extent(x.extents[2], w.extents[2], options.row_stride, options.row_padding);
  const std::int64_t columns =
      convolved_extent(x.extents[3], w.extents[3], options.column_stride, options.column_padding);
  const bool has_room = x.extents[2] > 0 && x.extents[3] > 0 && rows > 0 && columns > 0;
  if (has_room && w.extents[1] == x.extents[1] && y.extents[0] == x.extents[0] && y.extents[1] == w.extents[0] &&
      y.extents[2] == rows && y.extents[3] == columns) {
    return;
  }
  std::string expected = std::string(call.x.name) + " [images x in_channels x height x width], " +
                         std::string(call.w.name) + " [out_channels x in_channels x filter rows x filter columns], " +
                         "and " + std::string(call.y.name) + " [images x out_channels x ";
  expected += has_room ? std::to_string(rows) + " x " + std::to_string(columns) + "]"
                       : "rows x columns], where the image with its padding is not smaller than the filter";
  check::throw_shape(call.operation, expected, {call.x, call.w, call.y});
}

void check_form(const backward_call& call) {
  check_types_and_ranks(call);
  check_strides_and_paddings(call);
  check_extents(call);
}

void check_bias(const backward_call& call) {
  if (!call.options.bias) return;
  const named_array bias{"the bias' gradient", *call.options.bias};
  check::rank(call.operation, bias, 1);
  check::same_scalar_type(call.operation, {call.w, bias});
  if (bias.array.extents[0] != call.w.array.extents[0]) {
    check::throw_shape(call.operation, "a bias' gradient with an entry for each output channel", {bias, call.w});
  }
}

backward_call data_call(const array_ref& dy, const array_ref& w, const array_ref& dx,
                        const convolution_backward_options& options) {
  return {data_operation, {"dx", dx}, {"w", w}, {"dy", dy}, options};
}

backward_call weights_call(const array_ref& x, const array_ref& dy, const array_ref& dw,
                           const convolution_backward_options& options) {
  return {weights_operation, {"x", x}, {"dw", dw}, {"dy", dy}, options};
}

void check_data_form(const backward_call& call) {
  check_form(call);
  if (call.options.bias) {
    check::throw_argument(call.operation, "no bias, whose gradient convolve_backward_weights() computes",
                          {{"the bias' gradient", *call.options.bias}});
  }
}

void set_geometry(const backward_call& call, backend::convolution_geometry& geometry) {
  const array_ref &x = call.x.array, &w = call.w.array, &y = call.y.array;
  geometry.images = x.extents[0];
  geometry.in_channels = x.extents[1];
  geometry.height = x.extents[2];
  geometry.width = x.extents[3];
  geometry.out_channels = w.extents[0];
  geometry.filter_rows = w.extents[2];
  geometry.filter_columns = w.extents[3];
  geometry.row_stride = call.options.row_stride;
  geometry.column_stride = call.options.column_stride;
  geometry.row_padding = call.options.row_padding;
  geometry.column_padding = call.options.column_padding;
  geometry.rows = y.extents[2];
  geometry.columns = y.extents[3];
}

template <class T>
backend::backward_data_problem<T> data_problem_of(const backward_call& call, std::size_t working_set) {
  backend::backward_data_problem<T> problem;
  set_geometry(call, problem);
  problem.dy = image_array_of<const T>(call.y.array);
  problem.w = image_array_of<const T>(call.w.array);
  problem.dx = image_array_of<T>(call.x.array);
  problem.working_set = working_set;
  return problem;
}

template <class T>
backend::backward_weights_problem<T> weights_problem_of(const backward_call& call) {
  backend::backward_weights_problem<T> problem;
  set_geometry(call, problem);
  problem.x = image_array_of<const T>(call.x.array);
  problem.dy = image_array_of<const T>(call.y.array);
  problem.dw = image_array_of<T>(call.w.array);
  if (call.options.bias) {
    problem.has_bias = true;
    problem.bias = call.options.bias->as<T>();
    problem.bias_stride = call.options.bias->strides[0];
  }
  return problem;
}

}  // namespace

std::int64_t backward_weights_longest_chain(const instance_ref& space, const array_ref& x, const array_ref& dy,
                                            const array_ref& dw, const convolution_backward_options& options) {
  const backward_call call = weights_call(x, dy, dw, options);
  std::int64_t chain = 0;
  with_space_and_scalar(space.space(), dw.type, [&]<class Exec, class T> {
    const auto problem = weights_problem_of<T>(call);
    if (problem.outputs() == 0) return;
    backend::prepared_backward_weights prepared;
    backend::choose<backward_weights_operation<T>>(space.instance<Exec>(), problem, options.implementation, prepared);
    chain = prepared.longest_chain;
  });
  return chain;
}

}  // namespace prumo::detail

namespace prumo {

void convolve_backward_data(context_ref ctx, const array_ref& dy, const array_ref& w, const array_ref& dx,
                            const convolution_backward_options& options) {
  const auto call = detail::data_call(dy, w, dx, options);
  check::arrays(detail::data_operation, ctx, {{"dx", dx}}, {{"dy", dy}, {"w", w}});
  detail::check_data_form(call);
  detail::with_space_and_scalar(ctx.space(), dx.type, [&]<class Exec, class T> {
    backend::dispatch<detail::backward_data_operation<T>>(
        ctx.as<Exec>(), detail::data_problem_of<T>(call, ctx.working_set()), options.implementation);
  });
}

void convolve_backward_weights(context_ref ctx, const array_ref& x, const array_ref& dy, const array_ref& dw,
                               const convolution_backward_options& options) {
  const auto call = detail::weights_call(x, dy, dw, options);
  if (options.bias) {
    check::arrays(detail::weights_operation, ctx, {{"dw", dw}, {"the bias' gradient", *options.bias}},
                  {{"x", x}, {"dy", dy}});
  } else {
    check::arrays(detail::weights_operation, ctx, {{"dw", dw}}, {{"x", x}, {"dy", dy}});
  }
  detail::check_form(call);
  detail::check_bias(call);
  detail::with_space_and_scalar(ctx.space(), dw.type, [&]<class Exec, class T> {
    backend::dispatch<detail::backward_weights_operation<T>>(ctx.as<Exec>(), detail::weights_problem_of<T>(call),
                                                             options.implementation);
  });
}

std::string_view convolution_backward_data_implementation(const instance_ref& space, const array_ref& dy,
                                                          const array_ref& w, const array_ref& dx,
                                                          const convolution_backward_options& options) {
  const auto call = detail::data_call(dy, w, dx, options);
  detail::check_data_form(call);
  std::string_view name;
  detail::with_space_and_scalar(space.space(), dx.type, [&]<class Exec, class T> {
    name = backend::implementation_name<detail::backward_data_operation<T>>(
        space.instance<Exec>(), detail::data_problem_of<T>(call, space.working_set()), options.implementation);
  });
  return name;
}

std::string_view convolution_backward_weights_implementation(const instance_ref& space, const array_ref& x,
                                                             const array_ref& dy, const array_ref& dw,
                                                             const convolution_backward_options& options) {
  const auto call = detail::weights_call(x, dy, dw, options);
  detail::check_form(call);
  detail::check_bias(call);
  std::string_view name;
  detail::with_space_and_scalar(space.space(), dw.type, [&]<class Exec, class T> {
    name = backend::implementation_name<detail::backward_weights_operation<T>>(
        space.instance<Exec>(), detail::weights_problem_of<T>(call), options.implementation);
  });
  return name;
}

std::vector<std::string_view> convolution_backward_data_implementations(space_kind space, dtype type) {
  std::vector<std::string_view> names;
  detail::with_space_and_scalar(space, type, [&]<class Exec, class T> {
    names = backend::implementation_names<detail::backward_data_operation<T>, Exec>();
  });
  return names;
}

std::vector<std::string_view> convolution_backward_weights_implementations(space_kind space, dtype type) {
  std::vector<std::string_view> names;
  detail::with_space_and_scalar(space, type, [&]<class Exec, class T> {
    names = backend::implementation_names<detail::backward_weights_operation<T>, Exec>();
  });
  return names;
}

}  // namespace prumo
