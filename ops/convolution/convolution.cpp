// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolution_problem.hpp"
#include "pooling_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/convolution.hpp>
#include <prumo/spaces.hpp>

#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace prumo::detail {
namespace {

constexpr std::string_view operation = "prumo::convolve";

/// The convolution as backend::dispatch() wants it.
template <class T>
struct convolution_operation {
  using problem = backend::convolution_problem<T>;
  using prepared = backend::prepared_convolution;
  template <class Exec>
  using shortcut = backend::shortcut<Exec, problem>;

  static constexpr std::string_view name = operation;
  static constexpr std::string_view type = scalar_traits<T>::name;

  static std::string describe(const problem& of) {
    const auto square = [](std::int64_t rows, std::int64_t columns) {
      return std::to_string(rows) + " x " + std::to_string(columns);
    };
    return std::string(type) + " " + std::to_string(of.images) + " images, " + std::to_string(of.in_channels) +
           " channels of " + square(of.height, of.width) + ", " + std::to_string(of.out_channels) + " filters of " +
           square(of.filter_rows, of.filter_columns) + ", strides " + square(of.row_stride, of.column_stride) +
           ", mode " + std::string(gemm_mode_name(of.mode));
  }

  static std::string region_details(const problem&) { return std::string(type); }

  template <class Exec>
  static std::span<const backend::convolution_candidate<Exec, T>> candidates(const problem&) {
    static const std::vector<backend::convolution_candidate<Exec, T>> list = [] {
      std::vector<backend::convolution_candidate<Exec, T>> all;
      if constexpr (is_host_space<Exec>) {
        all.push_back(backend::direct_convolution_candidate<Exec, T>());
      } else {
        if (auto tensor = backend::tensor_convolution_candidate<Exec, T>()) all.push_back(*std::move(tensor));
        if (auto implicit = backend::implicit_gemm_convolution_candidate<Exec, T>())
          all.push_back(*std::move(implicit));
        all.push_back(backend::direct_device_candidate<Exec, T>());
      }
      all.push_back(backend::unrolled_convolution_candidate<Exec, T>());
      all.push_back(backend::portable_convolution_candidate<Exec, T>());
      return all;
    }();
    return list;
  }

  template <class Exec>
  static std::optional<shortcut<Exec>> shortcut_of(const problem& of) {
    if (of.is_empty()) return shortcut<Exec>{"none", "y is empty", nullptr};
    return std::nullopt;
  }
};

/// The arguments of a call.
struct convolution_call {
  const array_ref& x;
  const array_ref& w;
  const array_ref& y;
  const convolution_options& options;

  std::int64_t rows() const {
    return convolved_extent(x.extents[2], w.extents[2], options.row_stride, options.row_padding);
  }
  std::int64_t columns() const {
    return convolved_extent(x.extents[3], w.extents[3], options.column_stride, options.column_padding);
  }
  bool is_pooled() const { return options.pooling != convolution_pooling::none; }
  std::int64_t y_rows() const {
    const pooling_window& window = options.window;
    return is_pooled() ? pooled_extent(rows(), window.height, window.row_stride, window.row_padding, window.rounding)
                       : rows();
  }
  std::int64_t y_columns() const {
    const pooling_window& window = options.window;
    return is_pooled()
               ? pooled_extent(columns(), window.width, window.column_stride, window.column_padding, window.rounding)
               : columns();
  }
};

void check_types_and_ranks(const convolution_call& call) {
  const std::initializer_list<named_array> arrays = {{"x", call.x}, {"w", call.w}, {"y", call.y}};
  check::same_scalar_type(operation, arrays);
  for (const named_array& each : arrays) check::rank(operation, each, 4);
}

void check_strides_and_paddings(const convolution_call& call) {
  const convolution_options& options = call.options;
  const bool has_filter = call.w.extents[2] > 0 && call.w.extents[3] > 0;
  if (has_filter && options.row_stride >= 1 && options.column_stride >= 1 && options.row_padding >= 0 &&
      options.column_padding >= 0 && options.row_padding < call.w.extents[2] &&
      options.column_padding < call.w.extents[3]) {
    return;
  }
  check::throw_argument(operation,
                        "filters with a row and a column at least, strides of 1 or more (got " +
                            std::to_string(options.row_stride) + ", " + std::to_string(options.column_stride) +
                            "), and paddings that are smaller than the filter (got " +
                            std::to_string(options.row_padding) + ", " + std::to_string(options.column_padding) + ")",
                        {{"w", call.w}});
}

void check_extents(const convolution_call& call) {
  const auto& [x, w, y, options] = call;
  const std::int64_t rows = call.y_rows(), columns = call.y_columns();
  const bool has_room = x.extents[2] > 0 && x.extents[3] > 0 && rows > 0 && columns > 0;
  if (has_room && w.extents[1] == x.extents[1] && y.extents[0] == x.extents[0] && y.extents[1] == w.extents[0] &&
      y.extents[2] == rows && y.extents[3] == columns) {
    return;
  }
  std::string expected =
      "x [images x in_channels x height x width], w [out_channels x in_channels x filter rows x "
      "filter columns], and y [images x out_channels x ";
  expected += has_room ? std::to_string(rows) + " x " + std::to_string(columns) + "]"
                       : "rows x columns], where the image with its padding is not smaller than the filter, nor the "
                         "result than a window of its pooling";
  check::throw_shape(operation, expected, {{"x", x}, {"w", w}, {"y", y}});
}

void check_bias(const instance_ref& space, const convolution_call& call) {
  if (!call.options.bias) return;
  const array_ref& bias = *call.options.bias;
  check::arrays(operation, space, {{"y", call.y}}, {{"the bias", bias}});
  check::rank(operation, {"the bias", bias}, 1);
  check::same_scalar_type(operation, {{"y", call.y}, {"the bias", bias}});
  if (bias.extents[0] != call.w.extents[0]) {
    check::throw_shape(operation, "a bias with an entry for each output channel", {{"the bias", bias}, {"w", call.w}});
  }
}

void check_form(const convolution_call& call) {
  check_types_and_ranks(call);
  check_strides_and_paddings(call);
  if (call.is_pooled()) check_window(operation, call.options.window);
  check_extents(call);
}

template <class T>
backend::convolution_problem<T> problem_of(const convolution_call& call, std::size_t working_set) {
  const auto& [x, w, y, options] = call;
  backend::convolution_problem<T> problem;
  problem.x = image_array_of<const T>(x);
  problem.w = image_array_of<const T>(w);
  problem.y = image_array_of<T>(y);
  if (options.bias) {
    problem.bias = options.bias->as<const T>();
    problem.bias_stride = options.bias->strides[0];
  }
  problem.images = x.extents[0];
  problem.in_channels = x.extents[1];
  problem.height = x.extents[2];
  problem.width = x.extents[3];
  problem.out_channels = w.extents[0];
  problem.filter_rows = w.extents[2];
  problem.filter_columns = w.extents[3];
  problem.row_stride = options.row_stride;
  problem.column_stride = options.column_stride;
  problem.row_padding = options.row_padding;
  problem.column_padding = options.column_padding;
  problem.rows = call.rows();
  problem.columns = call.columns();
  problem.mode = options.mode;
  problem.activation = options.activation;
  problem.pooling = options.pooling;
  problem.window = options.window;
  problem.y_rows = y.extents[2];
  problem.y_columns = y.extents[3];
  problem.working_set = working_set;
  return problem;
}

}  // namespace
}  // namespace prumo::detail

namespace prumo {

void convolve(context_ref ctx, const array_ref& x, const array_ref& w, const array_ref& y,
              const convolution_options& options) {
  const detail::convolution_call call{x, w, y, options};
  check::arrays(detail::operation, ctx, {{"y", y}}, {{"x", x}, {"w", w}});
  detail::check_form(call);
  detail::check_bias(ctx, call);
  detail::with_space_and_scalar(ctx.space(), y.type, [&]<class Exec, class T> {
    backend::dispatch<detail::convolution_operation<T>>(ctx.as<Exec>(), detail::problem_of<T>(call, ctx.working_set()),
                                                        options.implementation);
  });
}

bool convolve_bytes(context_ref ctx, const array_ref& images, double scale, const array_ref& w, const array_ref& y,
                    const convolution_options& options) {
  if (images.type != dtype::u8) check::throw_argument(detail::operation, "images of u8", {{"images", images}});
  check::arrays(detail::operation, ctx, {{"y", y}}, {{"images", images}, {"w", w}});
  array_ref as_numbers = images;
  as_numbers.type = y.type;
  const detail::convolution_call call{as_numbers, w, y, options};
  detail::check_form(call);
  detail::check_bias(ctx, call);
  const bool may_be_direct = options.implementation.empty() || options.implementation == "direct";
  bool is_done = false;
  detail::with_space_and_scalar(ctx.space(), y.type, [&]<class Exec, class T> {
    if constexpr (std::is_same_v<T, float>) {
      const auto problem = detail::problem_of<T>(call, ctx.working_set());
      if (may_be_direct && !problem.is_empty()) {
        is_done = backend::run_byte_convolution(ctx.as<Exec>(), problem, scale);
      }
    }
  });
  return is_done;
}

std::string_view convolution_implementation(const instance_ref& space, const array_ref& x, const array_ref& w,
                                            const array_ref& y, const convolution_options& options) {
  const detail::convolution_call call{x, w, y, options};
  detail::check_form(call);
  std::string_view name;
  detail::with_space_and_scalar(space.space(), y.type, [&]<class Exec, class T> {
    name = backend::implementation_name<detail::convolution_operation<T>>(
        space.instance<Exec>(), detail::problem_of<T>(call, space.working_set()), options.implementation);
  });
  return name;
}

std::vector<std::string_view> convolution_implementations(space_kind space, dtype type) {
  std::vector<std::string_view> names;
  detail::with_space_and_scalar(space, type, [&]<class Exec, class T> {
    names = backend::implementation_names<detail::convolution_operation<T>, Exec>();
  });
  return names;
}

}  // namespace prumo
