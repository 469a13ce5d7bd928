// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Views of a device that tests fill.

#include "host_copy.hpp"
#include <prumo/philox.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace prumo::tests {

template <class T>
using row_major = Kokkos::View<T**, Kokkos::LayoutRight, Kokkos::DefaultExecutionSpace>;
template <class T>
using column_major = Kokkos::View<T**, Kokkos::LayoutLeft, Kokkos::DefaultExecutionSpace>;
template <class T>
using images = Kokkos::View<T****, Kokkos::LayoutRight, Kokkos::DefaultExecutionSpace>;
template <class T>
using strided_images = Kokkos::View<T****, Kokkos::LayoutStride, Kokkos::DefaultExecutionSpace>;
template <class T>
using strided_matrix = Kokkos::View<T**, Kokkos::LayoutStride, Kokkos::DefaultExecutionSpace>;

/// visit(i, j, ...) for each element of a view, in the order of rows.
template <class View, class Visit, class... Indices>
void for_each_index(const View& view, const Visit& visit, Indices... indices) {
  if constexpr (sizeof...(Indices) == View::rank()) {
    visit(indices...);
  } else {
    for (std::size_t i = 0; i < view.extent(sizeof...(Indices)); ++i) for_each_index(view, visit, indices..., i);
  }
}

/// Writes element(i, j, ...) to each element of a view, in the order of rows. Returns what is written, as host_copy().
template <class View, class Element>
auto set_elements(const View& view, const Element& element) {
  auto copy = host_copy(view);
  for_each_index(view, [&](auto... indices) { copy(indices...) = element(indices...); });
  write_back(view, copy);
  return copy;
}

/// Writes numbers of a stream of the generator.
template <class View>
void set_uniform(const View& view, std::uint64_t stream) {
  std::uint64_t index = 0;
  set_elements(view, [&](auto...) { return random::uniform<typename View::value_type>(7, stream, index++); });
}

/// Small whole numbers, whose sums are exact in every compute type. Returns what is written, as host_copy().
template <class View>
auto set_whole_numbers(const View& images, std::size_t salt) {
  return set_elements(images, [&](std::size_t n, std::size_t c, std::size_t r, std::size_t k) {
    return typename View::value_type(static_cast<float>((salt + n * 3 + c * 5 + r * 7 + k * 11 + r * k) % 5) - 2.0f);
  });
}

/// A view with a buffer of its own, every element of the buffer NaN.
template <class View>
View filled_with_nan(const View& view) {
  using T = typename View::value_type;
  const Kokkos::View<T*, Kokkos::DefaultExecutionSpace, Kokkos::MemoryUnmanaged> whole(view.data(), view.span());
  Kokkos::deep_copy(whole, static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  return view;
}

/// Images [count x channels x height x width] whose channels are next to each other in memory.
template <class T>
strided_images<T> channels_last(std::size_t count, std::size_t channels, std::size_t height, std::size_t width) {
  return strided_images<T>("channels last", Kokkos::LayoutStride(count, channels * height * width, channels, 1, height,
                                                                 channels * width, width, channels));
}

enum class placing { right, left, padded_right, padded_left, strided, strided_left };

/// A matrix filled_with_nan(), placed as asked.
template <class T>
strided_matrix<T> place(std::size_t rows, std::size_t columns, placing how) {
  const std::size_t row_strides[] = {columns, 1, columns + 3, 1, 2 * columns + 5, 2};
  const std::size_t column_strides[] = {1, rows, 1, rows + 2, 2, 2 * rows + 5};
  const auto index = static_cast<std::size_t>(how);
  return filled_with_nan(
      strided_matrix<T>("matrix", Kokkos::LayoutStride(rows, std::max<std::size_t>(1, row_strides[index]), columns,
                                                       std::max<std::size_t>(1, column_strides[index]))));
}

}  // namespace prumo::tests
