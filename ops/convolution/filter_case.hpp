// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the cases of a convolution and its gradients share.

#include "filter_choice.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::cases {

/// Images with counting scalars, row by row.
template <class T>
struct counted_images {
  std::vector<counted<T>> values;
  std::int64_t channels, rows, columns;

  prumo::detail::image_array<counted<T>> array() {
    return {values.data(), channels * rows * columns, rows * columns, columns, 1};
  }
  prumo::detail::image_array<const counted<T>> input() const {
    return {values.data(), channels * rows * columns, rows * columns, columns, 1};
  }

  /// Array number `which` of the inputs; or an output, full of zeros.
  static counted_images of(const std::vector<std::int64_t>& extents, const input_values* inputs, std::size_t which) {
    const std::int64_t count = extents[0] * extents[1] * extents[2] * extents[3];
    return {inputs != nullptr ? counted_values<T>(*inputs, which, count)
                              : std::vector<counted<T>>(static_cast<std::size_t>(count)),
            extents[1], extents[2], extents[3]};
  }
};

/// What the cases of a convolution and its gradients share.
template <class Exec>
class filter_case : public operation_case<Exec> {
 public:
  /// The size is that of the images, from which their number follows.
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(this->info(), type, bytes_per_array, given, {"out_channels", "filter_rows", "filter_columns"});
  }

  /// The sum of one result after the other is what can be run with counting scalars.
  std::string counted_implementation() const override { return "portable"; }

  std::string_view unit(const specification& choice) const override {
    return this->implementation_name(choice) == "tensor" ? "tensor" : "vector";
  }

 protected:
  static case_info filter_info(std::string op, std::string description,
                               const std::vector<std::string_view>& implementations) {
    case_info result;
    result.op = std::move(op);
    result.description = std::move(description);
    // The defaults are those of the second layer of the net ece408-2020.
    result.axes = {{"images", "images of x", 0},
                   {"in_channels", "channels of x", 4},
                   {"height", "rows of an image of x", 40},
                   {"width", "columns of an image of x", 40},
                   {"out_channels", "channels of y", 16},
                   {"filter_rows", "rows of a filter", 7},
                   {"filter_columns", "columns of a filter", 7}};
    result.values = {{"stride", "the distance of neighbouring places of the filter", 1, nullptr, {2, 3, 4, 0}},
                     {"padding", "rows and columns of zeros at each side", 0, nullptr, {1, 2}}};
    result.implementations = {"auto"};
    result.implementations.insert(result.implementations.end(), implementations.begin(), implementations.end());
    result.test_shapes = {
        extents(0, 2, 5, 5, 3, 3, 3),   extents(2, 3, 4, 7, 0, 2, 2),    extents(2, 0, 6, 6, 3, 3, 3),
        extents(3, 1, 1, 1, 1, 1, 1),   extents(1, 1, 3, 9, 2, 4, 3),    extents(2, 3, 3, 3, 5, 3, 3),
        extents(1, 1, 48, 48, 6, 5, 5), extents(2, 6, 22, 22, 16, 5, 5), extents(1, 2, 9, 150, 7, 3, 4),
        extents(3, 2, 17, 6, 12, 2, 3), extents(1, 5, 11, 13, 9, 1, 1),  extents(5, 3, 8, 5, 11, 4, 2),
        extents(2, 2, 9, 131, 3, 5, 5)};
    return result;
  }

  static shape extents(std::int64_t images, std::int64_t in_channels, std::int64_t height, std::int64_t width,
                       std::int64_t out_channels, std::int64_t filter_rows, std::int64_t filter_columns) {
    return {{"images", images},
            {"in_channels", in_channels},
            {"height", height},
            {"width", width},
            {"out_channels", out_channels},
            {"filter_rows", filter_rows},
            {"filter_columns", filter_columns}};
  }

  /// The arrays of a choice, without memory.
  std::vector<array_ref> arrays_of(const specification& choice) const {
    std::vector<array_ref> placed;
    for (const array_specification& each : this->arrays(choice.shape, choice.values)) {
      array_ref array;
      array.type = choice.type;
      array.rank = static_cast<int>(each.extents.size());
      std::ranges::copy(each.extents, array.extents);
      std::ranges::copy(strides_of(each.extents, choice.layout), array.strides);
      placed.push_back(array);
    }
    return placed;
  }
};

}  // namespace prumo::cases
