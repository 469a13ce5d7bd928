// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "images_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/images.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace prumo::detail {
namespace {

constexpr std::string_view operation = "prumo::convert_images";
const std::string label = "prumo::convert_images::pixels";

void check_images(const instance_ref& space, const array_ref& images, const array_ref& y,
                  const image_options& options) {
  if (options.index) {
    check::arrays(operation, space, {{"y", y}}, {{"images", images}, {"index", *options.index}});
  } else {
    check::arrays(operation, space, {{"y", y}}, {{"images", images}});
  }
  check::same_scalar_type(operation, {{"y", y}});
  if (images.type != dtype::u8) check::throw_argument(operation, "images of u8", {{"images", images}});
  check::rank(operation, {"images", images}, 4);
  check::rank(operation, {"y", y}, 4);
  if (options.index) {
    const array_ref& index = *options.index;
    check::rank(operation, {"index", index}, 1);
    if (index.type != dtype::i64 && index.type != dtype::i32) {
      check::throw_argument(operation, "indices of i64 or i32", {{"index", index}});
    }
    if (index.extents[0] != y.extents[0]) {
      check::throw_shape(operation, "y with an image for each index", {{"index", index}, {"y", y}});
    }
  } else if (images.extents[0] != y.extents[0]) {
    check::throw_shape(operation, "as many images as y has, or an index", {{"images", images}, {"y", y}});
  }
  if (images.extents[1] != y.extents[1]) {
    check::throw_shape(operation, "y with the channels of the images", {{"images", images}, {"y", y}});
  }
  const bool is_same_size = images.extents[2] == y.extents[2] && images.extents[3] == y.extents[3];
  if (options.resizing == image_resizing::none) {
    if (!is_same_size) {
      check::throw_shape(operation, "y with the rows and columns of the images, or a way of resizing",
                         {{"images", images}, {"y", y}});
    }
    return;
  }
  for (const std::int64_t side : {images.extents[2], images.extents[3], y.extents[2], y.extents[3]}) {
    if (side < 1 || side > largest_resized_side) {
      check::throw_shape(operation, "1 to 65535 rows and columns where images are resized",
                         {{"images", images}, {"y", y}});
    }
  }
}

template <class T>
images_problem<T> problem_of(const array_ref& images, const array_ref& y, const image_options& options) {
  images_problem<T> problem;
  problem.x = images.as<const std::uint8_t>();
  problem.y = y.as<T>();
  if (options.index) {
    problem.index = options.index->data;
    problem.index_is_wide = options.index->type == dtype::i64;
    problem.index_stride = options.index->strides[0];
  }
  problem.source_images = images.extents[0];
  problem.source_rows = images.extents[2];
  problem.source_columns = images.extents[3];
  problem.images = y.extents[0];
  problem.channels = y.extents[1];
  problem.rows = y.extents[2];
  problem.columns = y.extents[3];
  std::copy_n(images.strides, 4, problem.x_strides);
  std::copy_n(y.strides, 4, problem.y_strides);
  problem.scale = options.scale;
  problem.shift = options.shift;
  return problem;
}

/// Joins the rows of a plane, the planes of an image, and the images into one row, as far as they follow each other
/// without gaps. Pixels do not depend on their place here. An index may take images from anywhere.
template <class T>
void join_rows(images_problem<T>& problem) {
  const auto follow = [](const std::int64_t* strides, int outer, int inner, std::int64_t extent) {
    return strides[outer] == extent * strides[inner];
  };
  const auto joins = [&](int axis, std::int64_t& outer) {
    if (outer > 1 &&
        !(follow(problem.x_strides, axis, 3, problem.columns) && follow(problem.y_strides, axis, 3, problem.columns))) {
      return false;
    }
    problem.columns *= outer;
    outer = 1;
    return true;
  };
  if (!joins(2, problem.rows) || !joins(1, problem.channels) || problem.index != nullptr) return;
  if (joins(0, problem.images)) problem.source_images = 1;
}

/// Whether each row begins at the start of a pack, in the images and in y.
template <class T>
bool can_use_packs(const images_problem<T>& problem) {
  const auto are_aligned = [&](const void* first, std::uintptr_t bytes, const std::int64_t* strides,
                               std::int64_t images) {
    if (reinterpret_cast<std::uintptr_t>(first) % bytes != 0 || strides[3] != 1) return false;
    const std::int64_t extents[] = {images, problem.channels, problem.rows};
    for (int axis = 0; axis < 3; ++axis) {
      if (extents[axis] > 1 && strides[axis] % 4 != 0) return false;
    }
    return true;
  };
  return are_aligned(problem.x, 4, problem.x_strides, problem.source_images) &&
         are_aligned(problem.y, std::min<std::uintptr_t>(16, 4 * sizeof(T)), problem.y_strides, problem.images);
}

template <class Exec, class T, image_resizing How>
void launch(const Exec& instance, images_problem<T> problem) {
  if constexpr (How == image_resizing::none) join_rows(problem);
  // A block of a host takes a row, or a stretch that is long enough to pay for a thread.
  constexpr std::int64_t most_columns = 16384;
  const std::int64_t columns = is_host_space<Exec> ? std::clamp<std::int64_t>(problem.columns, 1, most_columns) : 1;
  const std::int64_t elements = problem.images * problem.channels * problem.rows * problem.columns;
  constexpr double of_an_element = How == image_resizing::none ? 0.3 : 20;
  const host_work work = host_work::repeated(elements, of_an_element);
  if constexpr (How == image_resizing::none && !is_host_space<Exec>) {
    if (can_use_packs(problem)) {
      launch_blocks(instance, label, images_kernel<T, double, How, true>(problem, 4), work);
      return;
    }
  }
  launch_blocks(instance, label, images_kernel<T, double, How, false>(problem, columns), work);
}

}  // namespace
}  // namespace prumo::detail

void prumo::convert_images(instance_ref space, const array_ref& images, const array_ref& y,
                           const image_options& options) {
  detail::check_images(space, images, y, options);
  if (y.size() == 0) return;
  detail::with_space_and_scalar(space.space(), y.type, [&]<class Exec, class T> {
    const Exec& instance = space.instance<Exec>();
    const detail::images_problem<T> problem = detail::problem_of<T>(images, y, options);
    switch (options.resizing) {
      case image_resizing::none: return detail::launch<Exec, T, image_resizing::none>(instance, problem);
      case image_resizing::area: return detail::launch<Exec, T, image_resizing::area>(instance, problem);
      case image_resizing::bilinear: return detail::launch<Exec, T, image_resizing::bilinear>(instance, problem);
    }
  });
}
