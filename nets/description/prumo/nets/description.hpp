// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a convolutional net consists of, as data: its input and its layers in order. Nothing here needs Kokkos.
///
/// An array of images is [images, channels, height, width]. A dense layer takes it as [images, features], where a
/// feature's number is (channel * height + row) * width + column.

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace prumo::nets {

/// Two extents, or two steps.
struct extent2 {
  std::int64_t height = 1;
  std::int64_t width = 1;

  bool operator==(const extent2&) const = default;
};

/// What follows the sum of a layer, element by element.
enum class activation { none, relu, sigmoid, tanh };

/// How many windows fit: `down` takes those that lie inside, `up` also the last one that begins inside and reaches
/// beyond the edge. What lies beyond takes no part in a maximum or an average.
enum class rounding { down, up };

/// y[m] = activation(bias[m] + sum over channels c and taps of w[m, c] * x[c]); zeros surround the image by `padding`.
struct convolution {
  std::int64_t channels = 1;  ///< of the output
  extent2 filter{};
  extent2 stride{};
  extent2 padding{0, 0};
  bool bias = true;
  activation activate = activation::none;

  bool operator==(const convolution&) const = default;
};

/// One filter for all maps: y[c] = activation(bias + sum over taps of w * x[c]).
struct shared_convolution {
  extent2 filter{};
  extent2 stride{};
  extent2 padding{0, 0};
  bool bias = true;
  activation activate = activation::none;

  bool operator==(const shared_convolution&) const = default;
};

enum class pooling_kind { maximum, average };

/// The maximum or the average of each window, map by map. Pixels beyond the edge count for neither.
struct pooling {
  pooling_kind kind = pooling_kind::maximum;
  extent2 window{};
  extent2 stride{};
  extent2 padding{0, 0};
  rounding round = rounding::down;

  bool operator==(const pooling&) const = default;
};

/// y = activation(W x + bias), W [features, features of x].
struct dense {
  std::int64_t features = 1;  ///< of the output
  bool bias = true;
  activation activate = activation::none;

  bool operator==(const dense&) const = default;
};

/// y = exp(x) / sum of exp(x), image by image; the last layer.
struct softmax {
  bool operator==(const softmax&) const = default;
};

using layer = std::variant<convolution, shared_convolution, pooling, dense, softmax>;

/// The array that a layer takes or makes for one image. Behind a dense layer, height and width are 1.
struct image_shape {
  std::int64_t channels = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;

  [[nodiscard]] std::int64_t size() const { return channels * height * width; }
  bool operator==(const image_shape&) const = default;
};

/// A net: the shape of its images and its layers.
struct description {
  std::string name;
  image_shape input;
  std::vector<layer> layers;

  bool operator==(const description&) const = default;
};

/// A description that makes no net. what() says where, what is wrong and what to do:
/// `prumo::nets: layers[0].filter: is 5 x 5, larger than its input of 4 x 4 with padding 0 x 0; take a smaller one`.
class description_error : public std::invalid_argument {
 public:
  /// \param layer the layer's place in the list; absent: the input, or the net as a whole
  /// \param field as in a net's file, such as `filter` or `input/height`; empty: the layer as a whole
  /// \param message what is wrong and what to do, without the place
  description_error(std::optional<std::size_t> layer, std::string field, std::string message);

  [[nodiscard]] std::optional<std::size_t> layer() const noexcept { return layer_; }
  [[nodiscard]] const std::string& field() const noexcept { return field_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

 private:
  std::optional<std::size_t> layer_;
  std::string field_;
  std::string message_;
};

/// The kind of a layer as in a net's file: `convolution`, `shared_convolution`, `max_pool`, `average_pool`, `dense`,
/// `softmax`.
[[nodiscard]] std::string_view kind_of(const layer& which);

/// `none`, `relu`, `sigmoid`, `tanh`.
[[nodiscard]] std::string_view name_of(activation which);

/// Names of the nets that prumo knows: `ece408-2019`, `ece408-2020`, `mnist-2f`, `lenet5`.
[[nodiscard]] std::span<const std::string_view> known_nets();

/// A net by its name. ece408-2019 and ece408-2020 are those of the course ECE408, mnist-2f is the one of De Felice Lima
/// and Nunan Zola, lenet5 the one of LeCun et al. with ReLU and maximum pooling.
/// \throws std::out_of_range for another name
[[nodiscard]] description named_net(std::string_view name);

}  // namespace prumo::nets
