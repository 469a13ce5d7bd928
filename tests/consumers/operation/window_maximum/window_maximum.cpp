// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_maximum.hpp"

#include <prumo/detail/launch.hpp>
#include <prumo/error.hpp>

namespace mine {

std::string why_no_windows(std::int64_t height, std::int64_t width, std::int64_t window, std::int64_t step) {
  if (step < 1) return "the step is " + std::to_string(step) + ", expected 1 or more";
  if (window < 1) return "the window is " + std::to_string(window) + ", expected 1 or more";
  if (window <= height && window <= width) return {};
  return "a window of " + std::to_string(window) + " is larger than the images of " + std::to_string(height) + " x " +
         std::to_string(width);
}

void window_maximum(prumo::instance_ref space, std::int64_t window, std::int64_t step, const prumo::array_ref& x,
                    const prumo::array_ref& y) {
  static const std::string label = "mine::window_maximum";
  if (x.rank != 4 || y.rank != 4) throw prumo::shape_error("mine::window_maximum: images have rank 4");
  if (const std::string reason = why_no_windows(x.extents[2], x.extents[3], window, step); !reason.empty()) {
    throw prumo::argument_error("mine::window_maximum: " + reason);
  }
  if (y.extents[0] != x.extents[0] || y.extents[1] != x.extents[1] ||
      y.extents[2] != windows_in(x.extents[2], window, step) ||
      y.extents[3] != windows_in(x.extents[3], window, step)) {
    throw prumo::shape_error("mine::window_maximum: the extents of y are not the numbers of windows in x");
  }
  prumo::detail::with_space(space.space(), [&]<class Exec> {
    const auto launch = [&]<class T>(T) {
      const window_maximum_kernel<T> kernel{images<const T>(x), images<T>(y), window, step};
      prumo::detail::launch_blocks(space.instance<Exec>(), label, kernel);
    };
    if (x.type != y.type) throw prumo::argument_error("mine::window_maximum: x and y differ in type");
    if (x.type == prumo::dtype::f32) return launch(float{});
    if (x.type == prumo::dtype::f64) return launch(double{});
    throw prumo::unsupported_error("mine::window_maximum: the images are neither float nor double");
  });
}

}  // namespace mine
