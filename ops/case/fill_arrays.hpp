// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Fills the arrays of a case: inputs with the generator's numbers, outputs with a NaN that shows what was not written.

#include <prumo/array_ref.hpp>
#include <prumo/philox.hpp>
#include <prumo/spaces.hpp>

#include <cstdint>

namespace prumo::cases::detail {

/// Where element `index`, in row-major order of the extents, of an array lies. Neighbouring dimensions that one stride
/// goes through count as one dimension, so that a contiguous array costs no division.
struct element_order {
  int rank = 1;  ///< at least 1
  std::int64_t extents[max_rank] = {1};
  std::int64_t strides[max_rank] = {1};

  element_order() = default;
  explicit element_order(const array_ref& array) {
    bool is_first = true;
    for (int dimension = 0; dimension < array.rank; ++dimension) {
      const std::int64_t extent = array.extents[dimension], stride = array.strides[dimension];
      if (extent == 1) continue;
      if (!is_first && strides[rank - 1] == extent * stride) {
        extents[rank - 1] *= extent;
      } else {
        if (!is_first) ++rank;
        extents[rank - 1] = extent;
      }
      strides[rank - 1] = stride;
      is_first = false;
    }
  }

  std::int64_t innermost_extent() const { return extents[rank - 1]; }
  std::int64_t innermost_stride() const { return strides[rank - 1]; }

  KOKKOS_FUNCTION std::int64_t offset(std::int64_t index) const {
    std::int64_t place = 0;
    for (int dimension = rank - 1; dimension > 0; --dimension) {
      const std::int64_t outer = index / extents[dimension];
      place += (index - outer * extents[dimension]) * strides[dimension];
      index = outer;
    }
    return place + index * strides[0];
  }
};

/// A quiet NaN of T with a payload that no arithmetic makes by chance; of indices the same bits, an index beyond any
/// array. No output has pixels.
template <class T>
KOKKOS_FUNCTION T poison() {
  if constexpr (sizeof(T) == 8) {
    return Kokkos::bit_cast<T>(std::uint64_t{0x7ff8dead0000beefu});
  } else if constexpr (sizeof(T) == 4) {
    return Kokkos::bit_cast<T>(std::uint32_t{0x7fc0beefu});
  } else if constexpr (std::is_integral_v<T>) {
    return 0xff;
  } else {
    T value;
    value.bits = sizeof(T) == 2 ? 0x7fe5u : 0x7fu;
    return value;
  }
}

/// Writes a stretch of blocks of the generator an iteration.
template <class T>
struct fill_uniform_kernel {
  static constexpr std::int64_t blocks_per_item = 256;

  T* data;
  element_order order;
  std::int64_t count;
  std::uint64_t seed;
  std::uint64_t stream;
  bool positive;

  std::int64_t blocks() const {
    constexpr std::int64_t values = blocks_per_item * random::values_per_block<T>;
    return (count + values - 1) / values;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    constexpr std::int64_t per_block = random::values_per_block<T>;
    for (std::int64_t block = item * blocks_per_item; block < (item + 1) * blocks_per_item; ++block) {
      if (block * per_block >= count) return;
      const random::philox_block words = random::philox4x32_10(seed, stream, static_cast<std::uint64_t>(block));
      for (int lane = 0; lane < per_block; ++lane) {
        const std::int64_t index = block * per_block + lane;
        if (index >= count) continue;
        const auto value = static_cast<compute_t<T>>(random::uniform_from<T>(words, lane));
        data[order.offset(index)] = static_cast<T>(positive ? Kokkos::fabs(value) : value);
      }
    }
  }
};

/// Indices of rows, say, or pixels.
template <class T>
struct fill_indices_kernel {
  static constexpr std::int64_t elements_per_item = 512;

  T* data;
  element_order order;
  std::int64_t count;
  std::uint64_t seed;
  std::uint64_t stream;
  std::int64_t below;

  std::int64_t blocks() const { return (count + elements_per_item - 1) / elements_per_item; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t end = (item + 1) * elements_per_item < count ? (item + 1) * elements_per_item : count;
    for (std::int64_t index = item * elements_per_item; index < end; ++index) {
      data[order.offset(index)] =
          static_cast<T>(random::index_below(seed, stream, static_cast<std::uint64_t>(index), below));
    }
  }
};

template <class T>
struct poison_kernel {
  static constexpr std::int64_t elements_per_item = 4096;

  T* data;
  element_order order;
  std::int64_t count;

  std::int64_t blocks() const { return (count + elements_per_item - 1) / elements_per_item; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t end = (item + 1) * elements_per_item < count ? (item + 1) * elements_per_item : count;
    for (std::int64_t index = item * elements_per_item; index < end; ++index) data[order.offset(index)] = poison<T>();
  }
};

}  // namespace prumo::cases::detail
