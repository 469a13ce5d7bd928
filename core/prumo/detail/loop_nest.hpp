// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loops over several arrays together. The dimensions are ordered by the strides of the first array, and merged if
/// every array allows it, so that kernels have few and long loops. An array that broadcasts to the first one has a
/// stride of 0 in the dimensions where it is repeated.

#include <prumo/array_ref.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/index_divider.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace prumo::detail {

/// The dimensions of a loop over `Count` arrays. The slowest one comes first, and the last one is the inner loop.
/// `Capacity` is the highest rank.
template <int Count, int Capacity = max_rank>
struct loop_nest {
  int rank = 0;
  c_array<std::int64_t, Capacity> extents;  ///< set for dimensions below `rank` only, as are strides
  c_array<c_array<std::int64_t, Capacity>, Count> strides;

  /// The dimension of the inner loop.
  KOKKOS_FUNCTION int inner() const { return rank > 0 ? rank - 1 : 0; }

  /// Whether the elements of each array lie in memory without gaps, and in the same order for all arrays.
  KOKKOS_FUNCTION bool contiguous() const {
    if (rank != 1) return false;
    for (int which = 0; which < Count; ++which) {
      if (strides[which][0] != 1 && extents[0] != 1) return false;
    }
    return true;
  }

  KOKKOS_FUNCTION std::int64_t size() const {
    std::int64_t product = 1;
    for (int dimension = 0; dimension < Capacity && dimension < rank; ++dimension) product *= extents[dimension];
    return product;
  }

  /// The same nest with room for fewer dimensions; its rank is no higher than that.
  template <int Fewer>
  loop_nest<Count, Fewer> with_capacity() const {
    if constexpr (Fewer == Capacity) {
      return *this;
    } else {
      loop_nest<Count, Fewer> result;
      result.rank = rank;
      std::copy_n(extents, rank, result.extents);
      for (int which = 0; which < Count; ++which) std::copy_n(strides[which], rank, result.strides[which]);
      return result;
    }
  }
};

/// Fills the extents and strides of make_loop_nest(): `strides` has a row for each of the `count` arrays. Returns the
/// rank, at least 1.
int fill_loop_nest(int count, const array_ref* const* arrays, std::int64_t* extents, std::int64_t (*strides)[max_rank]);

/// The loop nest of arrays that broadcast to the first one, an output, which decides the order.
template <std::same_as<array_ref>... Rest>
loop_nest<1 + static_cast<int>(sizeof...(Rest))> make_loop_nest(const array_ref& first, const Rest&... rest) {
  constexpr int count = 1 + static_cast<int>(sizeof...(Rest));
  const array_ref* const arrays[] = {&first, &rest...};
  loop_nest<count> nest;
  nest.rank = fill_loop_nest(count, arrays, nest.extents, nest.strides);
  return nest;
}

/// How many dimensions a nest of this many arrays may have in a kernel, whose arguments have at most 512 bytes.
constexpr int nest_capacity(int arrays) { return std::clamp(40 / arrays, 1, max_rank); }

/// Calls visit(part, offsets) for parts of a nest that have at most `rank` dimensions and `most` elements each;
/// `offsets` leads to the part's first element in every array. Nearly always there is one part: the nest.
template <int Count, class Visit>
void for_each_part(const loop_nest<Count>& nest, int rank, std::int64_t most, const Visit& visit,
                   const c_array<std::int64_t, Count>& offsets = {}) {
  int cut = 0;
  std::int64_t step = 1;
  if (nest.rank <= rank) {
    if (nest.size() <= most) return visit(nest, offsets);
    cut = static_cast<int>(std::max_element(nest.extents, nest.extents + nest.rank) - nest.extents);
    step = (nest.extents[cut] + 1) / 2;
  }
  for (std::int64_t begin = 0; begin < nest.extents[cut]; begin += step) {
    c_array<std::int64_t, Count> moved;
    loop_nest<Count> part = nest;
    for (int which = 0; which < Count; ++which) moved[which] = offsets[which] + begin * nest.strides[which][cut];
    if (nest.rank <= rank) {
      part.extents[cut] = std::min(step, nest.extents[cut] - begin);
    } else {
      part.rank = nest.rank - 1;
      std::copy_n(nest.extents + 1, part.rank, part.extents);
      for (int which = 0; which < Count; ++which) std::copy_n(nest.strides[which] + 1, part.rank, part.strides[which]);
    }
    for_each_part(part, rank, most, visit, moved);
  }
}

/// A loop nest for a device's kernel. It turns the number of an element, which is below 2^31, into indices.
template <int Count, int Capacity = nest_capacity(Count)>
class device_nest {
 public:
  static constexpr int capacity = Capacity;
  static constexpr std::int64_t most_elements = std::int64_t{1} << 30;

  device_nest() = default;
  explicit device_nest(const loop_nest<Count>& nest) : rank_(nest.rank) {
    for (int dimension = 0; dimension < rank_; ++dimension) {
      extents_[dimension] = static_cast<int>(nest.extents[dimension]);
      dividers_[dimension] = index_divider(extents_[dimension]);
      for (int which = 0; which < Count; ++which) strides_[which][dimension] = nest.strides[which][dimension];
    }
  }

  /// The stride of the inner loop.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t inner_stride(int which) const { return strides_[which][rank_ - 1]; }

  /// Finds the place of the element with this number in every array.
  KOKKOS_FORCEINLINE_FUNCTION void find(int number, c_array<std::int64_t, Count>& offsets) const {
    for (int which = 0; which < Count; ++which) offsets[which] = 0;
    for (int dimension = rank_ - 1; dimension > 0; --dimension) {
      const int next = dividers_[dimension].quotient(number);
      add(number - next * extents_[dimension], dimension, offsets);
      number = next;
    }
    add(number, 0, offsets);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void add(int index, int dimension, c_array<std::int64_t, Count>& offsets) const {
    for (int which = 0; which < Count; ++which) offsets[which] += index * strides_[which][dimension];
  }

  int rank_ = 0;
  c_array<int, capacity> extents_;
  c_array<index_divider, capacity> dividers_;
  c_array<c_array<std::int64_t, capacity>, Count> strides_;
};

}  // namespace prumo::detail
