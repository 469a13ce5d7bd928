// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pooling_backward_host_kernel.hpp"
#include "pooling_check.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/pooling_backward.hpp>

#include <string>
#include <string_view>

namespace prumo::detail {
namespace {

template <pooling_kind Kind, class Exec, class T>
void launch_pooling_backward(const Exec& instance, const pooling_backward_problem<T>& problem) {
  static const std::string name =
      Kind == pooling_kind::maximum ? "prumo::max_pool_backward" : "prumo::average_pool_backward";
  static const std::string cells = name + "::cells", gather = name + "::gather";
  const bool are_apart = are_windows_apart(problem.window);
  if constexpr (is_host_space<Exec>) {
    const std::int64_t elements = problem.images * problem.channels * problem.height * problem.width;
    if (are_apart) {
      launch_blocks(instance, cells, pooling_cells_host_kernel<Kind, T>(problem), host_work::repeated(elements, 0.5));
    } else {
      launch_blocks(instance, gather, pooling_gather_host_kernel<Kind, T>(problem), host_work::repeated(elements, 20));
    }
  } else if (are_apart) {
    launch_blocks(instance, cells, pooling_cells_device_kernel<Kind, T>(problem));
  } else {
    launch_blocks(instance, gather, pooling_gather_device_kernel<Kind, T>(problem));
  }
}

template <pooling_kind Kind>
void run_pooling_backward(const instance_ref& space, const array_ref* x, const array_ref& dy, const array_ref& dx,
                          const pooling_window& window) {
  if (dx.size() == 0) return;
  with_space_and_scalar(space.space(), dx.type, [&]<class Exec, class T> {
    pooling_backward_problem<T> problem;
    if (x != nullptr) problem.x = image_array_of<const T>(*x);
    problem.dy = image_array_of<const T>(dy);
    problem.dx = image_array_of<T>(dx);
    problem.images = dx.extents[0];
    problem.channels = dx.extents[1];
    problem.height = dx.extents[2];
    problem.width = dx.extents[3];
    problem.rows = dy.extents[2];
    problem.columns = dy.extents[3];
    problem.window = window;
    launch_pooling_backward<Kind>(space.instance<Exec>(), problem);
  });
}

}  // namespace
}  // namespace prumo::detail

void prumo::max_pool_backward(instance_ref space, const array_ref& x, const array_ref& dy, const array_ref& dx,
                              const pooling_window& window) {
  constexpr std::string_view operation = "prumo::max_pool_backward";
  check::arrays(operation, space, {{"dx", dx}}, {{"x", x}, {"dy", dy}});
  check::same_scalar_type(operation, {{"x", x}, {"dy", dy}, {"dx", dx}});
  detail::check_pooled_extents(operation, {"dx", dx}, {"dy", dy}, window);
  check::same_extents(operation, {{"x", x}, {"dx", dx}}, "dx with the extents of x");
  detail::run_pooling_backward<detail::pooling_kind::maximum>(space, &x, dy, dx, window);
}

void prumo::average_pool_backward(instance_ref space, const array_ref& dy, const array_ref& dx,
                                  const pooling_window& window) {
  constexpr std::string_view operation = "prumo::average_pool_backward";
  check::arrays(operation, space, {{"dx", dx}}, {{"dy", dy}});
  check::same_scalar_type(operation, {{"dy", dy}, {"dx", dx}});
  detail::check_pooled_extents(operation, {"dx", dx}, {"dy", dy}, window);
  detail::run_pooling_backward<detail::pooling_kind::mean>(space, nullptr, dy, dx, window);
}
