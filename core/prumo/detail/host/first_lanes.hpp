// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads and stores of the first lanes of a vector that leave the other lanes' memory alone.

#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#endif

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

#if defined(__AVX512BW__) && defined(__AVX512VL__)
/// Whether the host has instructions for it.
inline constexpr bool has_first_lanes = true;

/// \tparam T the type in memory
template <class T>
class first_lanes {
  using vector = simd<compute_t<T>>;
  using native = typename vector::native;

 public:
  /// Between none of the lanes and all of them.
  explicit first_lanes(std::int64_t count) : mask_(static_cast<mask>((1u << count) - 1u)) {}

  /// Elements in the first lanes, and what `others` has in the others.
  [[gnu::always_inline]] vector load(const T* from, vector others) const {
    if constexpr (std::is_same_v<T, float>) {
      return vector(reinterpret_cast<native>(_mm512_mask_loadu_ps(others.value(), mask_, from)));
    } else if constexpr (std::is_same_v<T, double>) {
      return vector(reinterpret_cast<native>(_mm512_mask_loadu_pd(others.value(), mask_, from)));
    } else {
      const __m256i narrow = _mm256_maskz_loadu_epi16(mask_, from);
      T each[vector::lanes];
      std::memcpy(static_cast<void*>(each), &narrow, sizeof(narrow));
      return vector(reinterpret_cast<native>(_mm512_mask_mov_ps(others.value(), mask_, load_vector(each).value())));
    }
  }

  [[gnu::always_inline]] void store(vector values, T* to) const {
    if constexpr (std::is_same_v<T, float>) {
      _mm512_mask_storeu_ps(to, mask_, values.value());
    } else if constexpr (std::is_same_v<T, double>) {
      _mm512_mask_storeu_pd(to, mask_, values.value());
    } else {
      T each[vector::lanes];
      store_vector(values, each);
      __m256i narrow;
      std::memcpy(&narrow, each, sizeof(narrow));
      _mm256_mask_storeu_epi16(to, mask_, narrow);
    }
  }

 private:
  using mask = std::conditional_t<vector::lanes == 8, __mmask8, __mmask16>;
  mask mask_;
};
#else
inline constexpr bool has_first_lanes = false;

template <class T>
class first_lanes;
#endif

/// Loads elements into the first lanes, and zero into the others. Memory behind the elements is not read.
/// \param count between 0 and the number of lanes
template <class T>
[[gnu::always_inline]] inline simd<compute_t<T>> load_first(const T* from, std::int64_t count) {
  using vector = simd<compute_t<T>>;
  if constexpr (has_first_lanes) {
    return first_lanes<T>(count).load(from, vector(compute_t<T>(0)));
  } else {
    T elements[vector::lanes] = {};
    std::copy_n(from, count, elements);
    return load_vector(elements);
  }
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
