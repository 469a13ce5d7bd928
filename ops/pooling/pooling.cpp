// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pooling_check.hpp"
#include "pooling_device_kernel.hpp"
#include "pooling_host_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/pooling.hpp>

#include <string>
#include <string_view>

namespace prumo::detail {

template <pooling_kind Kind, class Exec, class X, class T>
void launch_pooling(const Exec& instance, const pooling_problem<X, T>& problem) {
  static const std::string label = Kind == pooling_kind::maximum ? "prumo::max_pool" : "prumo::average_pool";
  if constexpr (is_host_space<Exec>) {
    launch_blocks(instance, label, pooling_host_kernel<Kind, X, T>(problem));
  } else {
    launch_blocks(instance, label, pooling_device_kernel<Kind, X, T>(problem));
  }
}

void check_window(std::string_view operation, const pooling_window& window) {
  const auto is_side = [](std::int64_t length, std::int64_t stride, std::int64_t padding) {
    return length >= 1 && stride >= 1 && padding >= 0 && padding < length;
  };
  if (is_side(window.height, window.row_stride, window.row_padding) &&
      is_side(window.width, window.column_stride, window.column_padding)) {
    return;
  }
  const auto described = [](std::int64_t length, std::int64_t stride, std::int64_t padding) {
    return std::to_string(length) + " (stride " + std::to_string(stride) + ", padding " + std::to_string(padding) + ")";
  };
  throw argument_error(std::string(operation) +
                       ": expected a window and strides of 1 or more, and paddings that are smaller than the window; "
                       "got height " +
                       described(window.height, window.row_stride, window.row_padding) + ", width " +
                       described(window.width, window.column_stride, window.column_padding));
}

void check_pooled_extents(std::string_view operation, const named_array& x, const named_array& y,
                          const pooling_window& window) {
  check::rank(operation, x, 4);
  check::rank(operation, y, 4);
  check_window(operation, window);
  const std::int64_t* const images = x.array.extents;
  const std::int64_t* const results = y.array.extents;
  const std::int64_t rows =
      pooled_extent(images[2], window.height, window.row_stride, window.row_padding, window.rounding);
  const std::int64_t columns =
      pooled_extent(images[3], window.width, window.column_stride, window.column_padding, window.rounding);
  const bool has_windows = images[2] > 0 && images[3] > 0 && rows > 0 && columns > 0;
  if (has_windows && results[0] == images[0] && results[1] == images[1] && results[2] == rows &&
      results[3] == columns) {
    return;
  }
  const std::string expected = has_windows ? std::string(y.name) + " with the images and channels of " +
                                                 std::string(x.name) + ", " + std::to_string(rows) + " rows and " +
                                                 std::to_string(columns) + " columns"
                                           : "images that are not smaller than the window of " +
                                                 std::to_string(window.height) + " x " + std::to_string(window.width);
  check::throw_shape(operation, expected, {x, y});
}

namespace {

template <pooling_kind Kind>
void pool(std::string_view operation, const instance_ref& space, const array_ref& x, const array_ref& y,
          const pooling_window& window) {
  check::arrays(operation, space, {{"y", y}}, {{"x", x}});
  check::same_scalar_type(operation, {{"x", x}, {"y", y}});
  check_pooled_extents(operation, {"x", x}, {"y", y}, window);
  if (y.size() == 0) return;
  with_space_and_scalar(space.space(), y.type, [&]<class Exec, class T> {
    launch_pooling<Kind>(
        space.instance<Exec>(),
        pooling_problem<T, T>{image_array_of<const T>(x), image_array_of<T>(y), y.extents[0], y.extents[1],
                              x.extents[2], x.extents[3], y.extents[2], y.extents[3], window});
  });
}

}  // namespace

// A convolution that ends with pooling pools its sums before they are rounded to the storage type.
#define PRUMO_INSTANTIATE_POOLING(Space, X, T)                                                     \
  template void launch_pooling<pooling_kind::maximum>(const Space&, const pooling_problem<X, T>&); \
  template void launch_pooling<pooling_kind::mean>(const Space&, const pooling_problem<X, T>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_POOLING, float, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_POOLING, double, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_POOLING, f16, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_POOLING, bf16, bf16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_POOLING, float, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_POOLING, float, bf16)
#undef PRUMO_INSTANTIATE_POOLING

}  // namespace prumo::detail

void prumo::max_pool(instance_ref space, const array_ref& x, const array_ref& y, const pooling_window& window) {
  detail::pool<detail::pooling_kind::maximum>("prumo::max_pool", space, x, y, window);
}

void prumo::average_pool(instance_ref space, const array_ref& x, const array_ref& y, const pooling_window& window) {
  detail::pool<detail::pooling_kind::mean>("prumo::average_pool", space, x, y, window);
}
