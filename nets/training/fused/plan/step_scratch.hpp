// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A team's scratch memory, and the copies of parameters in it.

#include "step_data.hpp"
#include "step_table.hpp"

#include <cstdint>
#include <type_traits>

namespace prumo::nets {

/// A team's scratch memory. The table lies at its begin, and says where the arrays are: pointers to all of them would
/// take too many registers.
template <class C>
class step_scratch {
 public:
  PRUMO_STEP_FUNCTION explicit step_scratch(unsigned char* memory) : memory_(memory) {}

  PRUMO_STEP_FUNCTION step_table& table() const { return *reinterpret_cast<step_table*>(memory_); }
  /// Of filters' gradients, while images are in memory.
  PRUMO_STEP_FUNCTION C* partials() const { return reinterpret_cast<C*>(memory_ + partials_begin()); }
  /// [slices][sums of a tile], in the same place, while weights change.
  PRUMO_STEP_FUNCTION C* sums_of_slices() const { return partials(); }
  /// Loss and correct answers of the group.
  PRUMO_STEP_FUNCTION double* sums() const { return at<double>(scratch_array::sums); }
  /// Of the images at once, as are the next three.
  PRUMO_STEP_FUNCTION double* losses() const { return at<double>(scratch_array::losses); }
  PRUMO_STEP_FUNCTION int* labels() const { return at<int>(scratch_array::labels); }
  PRUMO_STEP_FUNCTION int* correct() const { return at<int>(scratch_array::correct); }
  PRUMO_STEP_FUNCTION C* memory() const { return at<C>(scratch_array::memory); }
  /// The numbers in the set of the images that come next, their labels and pixels.
  PRUMO_STEP_FUNCTION int* next_images() const { return at<int>(scratch_array::next_images); }
  PRUMO_STEP_FUNCTION int* next_labels() const { return at<int>(scratch_array::next_labels); }
  PRUMO_STEP_FUNCTION std::uint8_t* next_bytes() const { return at<std::uint8_t>(scratch_array::next_bytes); }
  PRUMO_STEP_FUNCTION C* copies() const { return at<C>(scratch_array::copies); }
  /// Of teams that take windows, of each copy: the place of its parameter, or -1 for a gap.
  PRUMO_STEP_FUNCTION int* sources() const { return at<int>(scratch_array::sources); }
  PRUMO_STEP_FUNCTION C* gradients() const { return at<C>(scratch_array::gradients); }
  PRUMO_STEP_FUNCTION net_share& share() const { return *at<net_share>(scratch_array::share); }
  /// [moments][copies], of a team that shares a net.
  PRUMO_STEP_FUNCTION C* moments() const { return at<C>(scratch_array::moments); }

 private:
  PRUMO_STEP_FUNCTION static constexpr int partials_begin() { return (sizeof(step_table) + 31) / 32 * 32; }
  template <class T>
  PRUMO_STEP_FUNCTION T* at(scratch_array which) const {
    return reinterpret_cast<T*>(memory_ + table().scratch_begin[static_cast<int>(which)]);
  }

  unsigned char* memory_;
};

/// The number of a pixel: byte / 255 in double, rounded to C.
template <class C>
PRUMO_STEP_FUNCTION C pixel_value(unsigned byte) {
  if constexpr (std::is_same_v<C, float>) {
    // The same for each of the 256 numbers, without operations on doubles.
    const auto value = static_cast<float>(byte);
    constexpr float inverse = 1.0F / 255;
    const float quotient = value * inverse;
    return prumo::fma(prumo::fma(-255.0F, quotient, value), inverse, quotient);
  } else {
    return static_cast<C>(static_cast<double>(byte) * (1.0 / 255));
  }
}

/// A pixel becomes a number.
template <class C>
PRUMO_STEP_FUNCTION void put_pixel(const step_layer& it, C* image, const item_place& at, std::uint8_t value) {
  image[it.x.begin + at.channel * it.x.plane + at.row * it.x.pitch + at.column] = pixel_value<C>(value);
}

}  // namespace prumo::nets
