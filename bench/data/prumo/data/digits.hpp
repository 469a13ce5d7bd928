// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images of digits that prumo draws itself, for machines without data files. Strokes are bent, turned, stretched and
/// shifted at random, and noise and stray lines lie over them. Everything is integer arithmetic, so each compiler and
/// machine makes the same bytes. docs/data.md tells how hard they are.

#include <prumo/data/data_folder.hpp>

#include <cstdint>
#include <functional>

namespace prumo::data {

inline constexpr std::int64_t smallest_digit_side = 8;
inline constexpr std::int64_t largest_digit_side = 1024;
inline constexpr std::int64_t most_digit_classes = 10;

/// Which digits are drawn.
struct digit_options {
  std::int64_t height = 28;   ///< from smallest_digit_side to largest_digit_side
  std::int64_t width = 28;    ///< the same
  std::int64_t classes = 10;  ///< 1 to 10: the digits from 0 up
  std::uint64_t seed = 1;
};

/// The usual numbers of images: those of MNIST.
inline constexpr std::int64_t usual_train_images = 60000;
inline constexpr std::int64_t usual_test_images = 10000;

/// Draws the images `first` to `first + count - 1` of a seed. An image depends on nothing but its number and the
/// options, so the test images are those behind the training images, and any part can be drawn alone.
/// \param progress is called now and then with the number of images that are drawn; may be empty
/// \throws std::invalid_argument for options out of range
[[nodiscard]] labelled_images generate_digits(std::int64_t first, std::int64_t count, const digit_options& options = {},
                                              const std::function<void(std::int64_t)>& progress = {});

}  // namespace prumo::data
