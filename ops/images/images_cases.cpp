// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "images_kernel.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/images.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace prumo::cases {
namespace {

constexpr std::int64_t bytes_below = 256;

/// Images, results and options of a choice.
struct images_choice {
  std::int64_t images, channels, height, width, rows, columns;
  double scale, shift;
  bool gathers;
  image_resizing resizing;

  images_choice(const shape& extents, const parameters& values)
      : images(extents.at("images")),
        channels(extents.at("channels")),
        height(extents.at("height")),
        width(extents.at("width")),
        rows(extents.at("rows")),
        columns(extents.at("columns")),
        scale(values.at("scale")),
        shift(values.at("shift")),
        gathers(values.at("gather") != 0),
        resizing(static_cast<image_resizing>(static_cast<int>(values.at("resizing")))) {}

  std::int64_t source_size() const { return images * channels * height * width; }
  std::int64_t size() const { return images * channels * rows * columns; }
  std::size_t place_of_y() const { return gathers ? 2 : 1; }

  bool is_valid() const {
    if (resizing == image_resizing::none) return rows == height && columns == width;
    return std::min({height, width, rows, columns}) >= 1 &&
           std::max({height, width, rows, columns}) <= largest_resized_side;
  }
};

/// How much a new pixel takes of an old one along an axis, by the definitions.
struct resized_axis {
  image_resizing how;
  std::int64_t from, to;

  /// The old pixels that may have a part in new pixel i, with some to spare.
  std::int64_t begin(std::int64_t i) const { return std::max<std::int64_t>(0, i * from / to - 2); }
  std::int64_t end(std::int64_t i) const { return std::min(from, (i + 1) * from / to + 3); }

  std::int64_t weight(std::int64_t i, std::int64_t old) const {
    return how == image_resizing::area ? covered(i, old) : nearness(i, old);
  }

 private:
  /// The common part of two stretches, in units in which an old pixel is `to` long.
  std::int64_t covered(std::int64_t i, std::int64_t old) const {
    return std::max<std::int64_t>(0, std::min((i + 1) * from, (old + 1) * to) - std::max(i * from, old * to));
  }
  /// 2 to minus the distance of two centres, in units of 1 / (2 to) old pixels. Centres beyond the last ones are moved
  /// there.
  std::int64_t nearness(std::int64_t i, std::int64_t old) const {
    const std::int64_t centre = std::clamp<std::int64_t>((2 * i + 1) * from - to, 0, (from - 1) * 2 * to);
    return std::max<std::int64_t>(0, 2 * to - std::abs(centre - old * 2 * to));
  }
};

template <class Exec>
class convert_images_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "convert_images";
    result.description = "y = byte * scale + shift for images of bytes, resized or gathered on the way";
    result.axes = {{"images", "images of y", 0},
                   {"channels", "channels of an image", 1},
                   {"height", "rows of an image", 28},
                   {"width", "columns of an image", 28},
                   {"rows", "rows of y (default: those of an image)", 28},
                   {"columns", "columns of y (default: those of an image)", 28}};
    result.values = {{"scale", "the factor of each byte", 1.0 / 255, nullptr, {0, 1, -0.75}},
                     {"shift", "what is added to it", 0, nullptr, {0.5}},
                     {"gather", "1: an index chooses the images", 0, nullptr, {1}},
                     {"resizing", "0 none, 1 by area, 2 bilinear", 0, nullptr, {1, 2}}};
    const auto of = [](std::int64_t images, std::int64_t channels, std::int64_t height, std::int64_t width,
                       std::int64_t rows, std::int64_t columns) {
      return shape{{"images", images}, {"channels", channels}, {"height", height},
                   {"width", width},   {"rows", rows},         {"columns", columns}};
    };
    result.test_shapes = {of(0, 1, 4, 4, 4, 4),     of(3, 1, 1, 1, 1, 1),         of(2, 0, 3, 3, 3, 3),
                          of(2, 1, 0, 3, 0, 3),     of(5, 1, 4, 8, 4, 8),         of(3, 3, 7, 5, 7, 5),
                          of(2, 1, 28, 28, 28, 28), of(1, 1, 1, 40001, 1, 40001), of(2, 2, 7, 5, 10, 9),
                          of(2, 1, 28, 28, 48, 86), of(3, 1, 9, 11, 4, 3),        of(1, 1, 1, 1, 6, 5)};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    shape sides = given;
    if (given.contains("height") && !given.contains("rows")) sides.set("rows", given.at("height"));
    if (given.contains("width") && !given.contains("columns")) sides.set("columns", given.at("width"));
    // The size is that of y.
    return resolve_axes(info(), type, bytes_per_array, sides, {"height", "width"});
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const images_choice what(extents, values);
    array_specification images{"images", array_role::input, {what.images, what.channels, what.height, what.width}};
    images.type = dtype::u8;
    images.indices_below = bytes_below;
    std::vector<array_specification> all{images};
    if (what.gathers) {
      all.push_back({"index", array_role::input, {what.images}});
      all.back().indices_below = what.images;
    }
    all.push_back({"y", array_role::output, {what.images, what.channels, what.rows, what.columns}});
    return all;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const images_choice what(extents, values);
    const auto elements = static_cast<double>(what.size());
    const double index = what.gathers ? 8 * static_cast<double>(what.images) : 0;
    return {static_cast<double>(what.source_size()) + index + elements * static_cast<double>(dtype_size(type)),
            2 * elements, elements};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const images_choice what(choice.shape, choice.values);
    image_options options{what.scale, what.shift, what.resizing, {}};
    if (what.gathers) options.index = arrays[1];
    convert_images(instance_ref(ctx), arrays[0], arrays[what.place_of_y()], options);
  }

  std::string why_invalid(const specification& choice) const override {
    const images_choice what(choice.shape, choice.values);
    if (what.is_valid()) return "";
    return what.resizing == image_resizing::none
               ? "y has other rows or columns than the images, and resizing is 0"
               : "images that are resized have 1 to 65535 rows and columns, and so has y";
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("images") * extents.at("channels");
  }
  double reference_part_cost(const shape& extents, const parameters& values) const override {
    const images_choice what(extents, values);
    const double taps =
        what.resizing == image_resizing::none
            ? 1
            : (5 + static_cast<double>(what.height) / static_cast<double>(std::max<std::int64_t>(1, what.rows))) *
                  (5 + static_cast<double>(what.width) / static_cast<double>(std::max<std::int64_t>(1, what.columns)));
    const double each = 20 + 10 * taps;
    return each * static_cast<double>(what.rows * what.columns);
  }

  /// A plane of y. The product of a byte and a double is exact in long double. The sum is rounded to double, and then
  /// to the type of y.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const images_choice what(choice.shape, choice.values);
    const std::int64_t image = part / what.channels, channel = part % what.channels;
    const std::int64_t source = what.gathers ? inputs.index_at(1, image, what.images) : image;
    std::vector<std::int64_t> bytes = plane_of(what, inputs, source * what.channels + channel);
    if (what.resizing != image_resizing::none) bytes = resized(what, bytes);
    const std::size_t y = what.place_of_y();
    std::int64_t index = part * what.rows * what.columns;
    for (const std::int64_t byte : bytes) {
      const long double product = static_cast<long double>(byte) * static_cast<long double>(what.scale);
      const long double value = product + static_cast<long double>(what.shift);
      const long double in_double = choice.type == dtype::f64 ? 0 : 0x1p-53L * std::fabs(value);
      out.push_back({y, index++, value, ulp(choice.type, value) / 2 + in_double + 0x1p-63L * std::fabs(value)});
    }
  }

  flop_counts count_kernel(const specification& choice) const override {
    switch (images_choice(choice.shape, choice.values).resizing) {
      case image_resizing::none: break;
      case image_resizing::area: return count_of<image_resizing::area>(choice);
      case image_resizing::bilinear: return count_of<image_resizing::bilinear>(choice);
    }
    return count_of<image_resizing::none>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override {
    flop_counts counts;
    counts[flop_kind::fma] = static_cast<std::uint64_t>(images_choice(choice.shape, choice.values).size());
    return counts;
  }

 private:
  static std::vector<std::int64_t> plane_of(const images_choice& what, const input_values& inputs, std::int64_t plane) {
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(what.height * what.width));
    std::int64_t index = plane * what.height * what.width;
    for (std::int64_t& byte : bytes) byte = inputs.index_at(0, index++, bytes_below);
    return bytes;
  }

  static std::vector<std::int64_t> resized(const images_choice& what, const std::vector<std::int64_t>& plane) {
    const resized_axis of_rows{what.resizing, what.height, what.rows};
    const resized_axis of_columns{what.resizing, what.width, what.columns};
    std::vector<std::int64_t> result;
    for (std::int64_t row = 0; row < what.rows; ++row) {
      for (std::int64_t column = 0; column < what.columns; ++column) {
        std::int64_t sum = 0, total = 0;
        for (std::int64_t r = of_rows.begin(row); r < of_rows.end(row); ++r) {
          for (std::int64_t c = of_columns.begin(column); c < of_columns.end(column); ++c) {
            const std::int64_t weight = of_rows.weight(row, r) * of_columns.weight(column, c);
            sum += weight * plane[static_cast<std::size_t>(r * what.width + c)];
            total += weight;
          }
        }
        result.push_back((sum + total / 2) / total);
      }
    }
    return result;
  }

  template <image_resizing How>
  static flop_counts count_of(const specification& choice) {
    const images_choice what(choice.shape, choice.values);
    const input_values inputs(choice);
    std::vector<std::uint8_t> x;
    for (std::int64_t i = 0; i < what.source_size(); ++i) {
      x.push_back(static_cast<std::uint8_t>(inputs.index_at(0, i, bytes_below)));
    }
    std::vector<counted<double>> y(static_cast<std::size_t>(what.size()));
    flop_counts counts;
    if (y.empty()) return counts;
    prumo::detail::images_problem<counted<double>> problem;
    problem.x = x.data();
    problem.y = y.data();
    problem.source_images = problem.images = what.images;
    problem.channels = what.channels;
    problem.source_rows = what.height;
    problem.source_columns = what.width;
    problem.rows = what.rows;
    problem.columns = what.columns;
    const auto set_strides = [&](std::int64_t (&strides)[4], std::int64_t rows, std::int64_t columns) {
      strides[3] = 1;
      strides[2] = columns;
      strides[1] = rows * columns;
      strides[0] = what.channels * rows * columns;
    };
    set_strides(problem.x_strides, what.height, what.width);
    set_strides(problem.y_strides, what.rows, what.columns);
    problem.scale = what.scale;
    problem.shift = what.shift;
    const counting_scope scope(counts);
    const prumo::detail::images_kernel<counted<double>, counted<double>, How, false> kernel(problem, what.columns);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(images, prumo::cases::convert_images_case)
