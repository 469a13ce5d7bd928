// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel of convert_images, for hosts and devices: a block takes a stretch of one row of y.

#include "resized_pixel.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/rounded_to_odd.hpp>
#include <prumo/math.hpp>
#include <prumo/types.hpp>

#include <cstdint>

namespace prumo::detail {

/// What the kernel is given. Rows that follow each other without gaps, in the images and in y, are one row, also those
/// of different images.
template <class T>
struct images_problem {
  const std::uint8_t* x = nullptr;
  T* y = nullptr;
  const void* index = nullptr;  ///< null: image i of y is image i of x
  bool index_is_wide = true;    ///< of 64 bits
  std::int64_t index_stride = 1;
  std::int64_t source_images = 0;
  std::int64_t source_rows = 0;
  std::int64_t source_columns = 0;
  std::int64_t images = 0;  ///< these and the extents below are those of y
  std::int64_t channels = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t x_strides[4] = {};
  std::int64_t y_strides[4] = {};
  double scale = 1;
  double shift = 0;
};

/// A value that was computed in double, as y stores it.
template <class T, class C>
KOKKOS_FORCEINLINE_FUNCTION T stored_pixel(const C& value) {
  if constexpr (std::is_same_v<C, double> && sizeof(T) < sizeof(float)) {
    return T(rounded_to_odd(value));
  } else {
    return static_cast<T>(value);
  }
}

inline namespace PRUMO_INSTRUCTION_SET {

/// C: double, or a counting double. Packed: the columns of x and y are contiguous, and a block of a device takes four
/// of them, which are aligned. The last block of a row may have fewer.
template <class T, class C, image_resizing How, bool Packed>
class images_kernel {
  static_assert(How == image_resizing::none || !Packed);
  static constexpr std::int64_t pack = 4;

 public:
  images_kernel(const images_problem<T>& problem, std::int64_t columns_per_block)
      : problem_(problem),
        columns_per_block_(columns_per_block),
        stretches_((problem.columns + columns_per_block - 1) / columns_per_block) {}

  std::int64_t blocks() const { return problem_.images * problem_.channels * problem_.rows * stretches_; }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::int64_t line = quotient(block, stretches_), stretch = block - line * stretches_;
    const std::int64_t plane = quotient(line, problem_.rows), row = line - plane * problem_.rows;
    const std::int64_t image = quotient(plane, problem_.channels), channel = plane - image * problem_.channels;
    const std::int64_t begin = stretch * columns_per_block_;
    const std::int64_t end =
        begin + columns_per_block_ < problem_.columns ? begin + columns_per_block_ : problem_.columns;
    const std::int64_t source = source_of(image);
    T* const to =
        problem_.y + image * problem_.y_strides[0] + channel * problem_.y_strides[1] + row * problem_.y_strides[2];
    if (source < 0 || source >= problem_.source_images) {
      for (std::int64_t k = begin; k < end; ++k) {
        to[k * problem_.y_strides[3]] = stored_pixel<T>(C(Kokkos::Experimental::quiet_NaN_v<double>));
      }
      return;
    }
    const std::uint8_t* const from = problem_.x + source * problem_.x_strides[0] + channel * problem_.x_strides[1];
    if constexpr (How != image_resizing::none) {
      resize(from, row, to, begin, end);
    } else if (Packed && end - begin == pack) {
      convert_pack(from + row * problem_.x_strides[2] + begin, to + begin);
    } else {
      convert(from + row * problem_.x_strides[2], to, begin, end);
    }
  }

 private:
  /// A division of 64 bits takes a GPU as long as all else.
  static KOKKOS_FORCEINLINE_FUNCTION std::int64_t quotient(std::int64_t dividend, std::int64_t divisor) {
    if (divisor == 1) return dividend;
    if (dividend < divisor) return 0;
    constexpr std::int64_t most = 0xffff'ffff;
    if (dividend <= most && divisor <= most) {
      return static_cast<std::uint32_t>(dividend) / static_cast<std::uint32_t>(divisor);
    }
    return dividend / divisor;
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t source_of(std::int64_t image) const {
    if (problem_.index == nullptr) return image;
    const std::int64_t at = image * problem_.index_stride;
    if (problem_.index_is_wide) return static_cast<const std::int64_t*>(problem_.index)[at];
    return static_cast<const std::int32_t*>(problem_.index)[at];
  }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  static KOKKOS_FORCEINLINE_FUNCTION T value(std::uint32_t byte, double scale, double shift) {
    return stored_pixel<T>(prumo::fma(C(static_cast<double>(byte)), C(scale), C(shift)));
  }

  KOKKOS_FORCEINLINE_FUNCTION void convert(const std::uint8_t* from, T* to, std::int64_t begin,
                                           std::int64_t end) const {
    // These are copies, because bytes may alias anything, also the members.
    const std::int64_t from_step = problem_.x_strides[3], to_step = problem_.y_strides[3];
    const double scale = problem_.scale, shift = problem_.shift;
    if (from_step == 1 && to_step == 1) {
      for (std::int64_t k = begin; k < end; ++k) to[k] = value(from[k], scale, shift);
    } else {
      for (std::int64_t k = begin; k < end; ++k) to[k * to_step] = value(from[k * from_step], scale, shift);
    }
  }

  /// Four bytes in one load, and four values in one store, or two of doubles.
  KOKKOS_FORCEINLINE_FUNCTION void convert_pack(const std::uint8_t* from, T* to) const {
    struct alignas(sizeof(T) * pack < 16 ? sizeof(T) * pack : 16) values {
      T element[pack];
    };
    const std::uint32_t bytes = *reinterpret_cast<const std::uint32_t*>(from);
    values converted;
    for (int i = 0; i < pack; ++i) {
      converted.element[i] = value(bytes >> (8 * i) & 0xffu, problem_.scale, problem_.shift);
    }
    *reinterpret_cast<values*>(to) = converted;
  }

  KOKKOS_FORCEINLINE_FUNCTION void resize(const std::uint8_t* plane, std::int64_t row, T* to, std::int64_t begin,
                                          std::int64_t end) const {
    const auto narrow = [](std::int64_t side) { return static_cast<std::uint32_t>(side); };
    const auto shares_of_row = pixel_shares::of<How>(narrow(row), narrow(problem_.source_rows), narrow(problem_.rows));
    for (std::int64_t k = begin; k < end; ++k) {
      const auto shares = pixel_shares::of<How>(narrow(k), narrow(problem_.source_columns), narrow(problem_.columns));
      const std::uint32_t byte =
          resized_pixel<How>(plane, problem_.x_strides[2], problem_.x_strides[3], shares_of_row, shares);
      to[k * problem_.y_strides[3]] = value(byte, problem_.scale, problem_.shift);
    }
  }

  images_problem<T> problem_;
  std::int64_t columns_per_block_;
  std::int64_t stretches_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
