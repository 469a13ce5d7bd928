// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Images of bytes that come to the scratch memory of a team one after the other, and become numbers there.
///
/// There are two rings: one of bytes, which bulk copies fill, and one of numbers. When a thread has stored its results
/// of a turn, it makes its share of the numbers that the next turn needs, whose bytes have been on the way for a turn.
/// Most threads would wait for the slowest ones then.

#include "ring_places.hpp"
#include "scratch_copies.hpp"
#include <prumo/detail/team_kernel.hpp>
#include <prumo/math.hpp>

#include <cmath>
#include <cstdint>
#include <optional>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The number of a byte b: b * scale, rounded once, without arithmetic in f64.
class byte_numbers {
 public:
  byte_numbers() = default;

  /// The formula for a scale; none if it does not round the number of each byte as f64 would.
  static std::optional<byte_numbers> of(double scale) {
    byte_numbers result;
    result.high_ = static_cast<float>(scale);
    result.low_ = static_cast<float>(scale - static_cast<double>(result.high_));
    for (int byte = 0; byte < 256; ++byte) {
      const auto expected = static_cast<float>(byte * scale);
      if (!std::isfinite(expected) || result.at(static_cast<std::uint8_t>(byte)) != expected) return std::nullopt;
    }
    return result;
  }

  KOKKOS_FORCEINLINE_FUNCTION float at(std::uint8_t byte) const {
    const auto number = static_cast<float>(byte);
    return prumo::fma(number, high_, number * low_);
  }

 private:
  float high_ = 0;  ///< the scale, rounded
  float low_ = 0;   ///< what the rounding took away
};

/// A thread's view of both rings, which have as many places.
class byte_ring {
 public:
  using element = std::uint8_t;

  /// Images of so many elements begin anywhere in packs of bulk_bytes.
  KOKKOS_FUNCTION static constexpr int bytes_of_place(int image_elements) {
    return bulk_multiple(image_elements) + bulk_bytes;
  }
  static constexpr std::size_t bytes_beside_images(int places, int image_elements) {
    return static_cast<std::size_t>(places) *
           (static_cast<std::size_t>(bytes_of_place(image_elements)) + sizeof(ring_place));
  }

  /// \param images for the numbers: aligned for packs, as is their distance
  /// \param memory of bytes_beside_images() bytes, aligned for packs
  /// \param count of the images that will come
  KOKKOS_FORCEINLINE_FUNCTION byte_ring(float* images, int image_elements, void* memory, int places, int count,
                                        const byte_numbers& numbers)
      : images_(images),
        bytes_(static_cast<unsigned char*>(memory)),
        image_elements_(image_elements),
        places_(reinterpret_cast<ring_place*>(bytes_at(places))),
        count_of_places_(places),
        count_(count),
        numbers_(numbers),
        order_of_bytes_(places),
        order_(places) {}

  /// Makes all places empty.
  KOKKOS_FORCEINLINE_FUNCTION void clear(int thread, int) const {
    if (thread >= prumo::detail::exchange_threads) return;
    PRUMO_KEEP_LOOP
    for (int place = thread; place < count_of_places_; place += prumo::detail::exchange_threads) places_[place].clear();
    order_copies_behind_barriers();
  }

  /// Begins to bring the first images, after clear(). Each place is filled by the thread that made it empty, so no
  /// barrier is needed.
  /// \param image_at returns the address of one of the `count` images, which is a multiple of 4
  template <class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void bring_first(int thread, const ImageAt& image_at) {
    bring_until(thread, count_of_places_, image_at);
  }

  /// Begins a turn, which all threads of the team do. No thread needs the images before `first` any more.
  template <class Member, class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void begin_turn(const Member& member, int first, const ImageAt& image_at) {
    member.team_barrier();
    order_of_bytes_.leave_before(converted_);
    order_.leave_before(first);
    bring_until(member.team_rank(), converted_ + count_of_places_, image_at);
  }

  /// Makes the numbers of the images before `end`: those that the next turn needs, or the first one. All threads call,
  /// and a barrier has been passed since bring_first().
  template <class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void make_numbers(int thread, int threads, int end, const ImageAt& image_at) {
    using byte_pack = prumo::detail::device_pack<std::uint8_t, 4>;
    using number_pack = prumo::detail::device_pack<float, 4>;
    PRUMO_KEEP_LOOP
    for (; converted_ < end; ++converted_) {
      const ring_order::position from = order_of_bytes_.of(converted_);
      places_[from.place].wait_for(from.turn);
      const unsigned char* const bytes = bytes_at(from.place) + offset_of(image_at(converted_));
      float* const numbers = numbers_at(order_.of(converted_).place);
      PRUMO_KEEP_LOOP
      for (int at = 4 * thread; at < image_elements_; at += 4 * threads) {
        const auto four = *reinterpret_cast<const byte_pack*>(bytes + at);
        number_pack converted;
        PRUMO_UNROLL
        for (int i = 0; i < 4; ++i) converted.values[i] = numbers_.at(four.values[i]);
        store_to_scratch(numbers + at, converted);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void end_reading(int) const {}

  /// Where the numbers of an image are, which the present turn needs.
  KOKKOS_FORCEINLINE_FUNCTION const float* wait_for(int image) const { return numbers_at(order_.of(image).place); }

 private:
  KOKKOS_FUNCTION static constexpr int bulk_multiple(int bytes) {
    return (bytes + bulk_bytes - 1) / bulk_bytes * bulk_bytes;
  }
  /// Indices in the scratch memory have 32 bits.
  KOKKOS_FORCEINLINE_FUNCTION unsigned char* bytes_at(int place) const {
    const int index = place * bytes_of_place(image_elements_);
    return bytes_ + index;
  }
  KOKKOS_FORCEINLINE_FUNCTION float* numbers_at(int place) const {
    const int index = place * image_elements_;
    return images_ + index;
  }
  /// How far behind a multiple of bulk_bytes an image begins.
  KOKKOS_FORCEINLINE_FUNCTION static int offset_of(const std::uint8_t* image) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(image) % bulk_bytes);
  }

  template <class ImageAt>
  KOKKOS_FORCEINLINE_FUNCTION void bring_until(int thread, int end, const ImageAt& image_at) {
    if (end > count_) end = count_;
    if (thread < prumo::detail::exchange_threads) {
      PRUMO_KEEP_LOOP
      for (int image = brought_ + thread; image < end; image += prumo::detail::exchange_threads) {
        const ring_order::position at = order_of_bytes_.of(image);
        const std::uint8_t* const from = image_at(image);
        const int offset = offset_of(from);
        const int bytes = bulk_multiple(offset + image_elements_);
        places_[at.place].bring(from - offset, bytes_at(at.place), bytes, at.turn);
      }
    }
    brought_ = end > brought_ ? end : brought_;
  }

  float* images_;
  unsigned char* bytes_;
  int image_elements_;
  ring_place* places_;
  int count_of_places_;
  int count_;
  byte_numbers numbers_;
  int brought_ = 0;
  int converted_ = 0;
  ring_order order_of_bytes_;
  ring_order order_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
