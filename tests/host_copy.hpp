// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Views of a device as tests look at them. Kokkos copies only contiguous views between memories; here the whole span
/// goes, whatever the strides are.

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace prumo::tests {

/// Everything between a view's first and last element, as a vector. View::span() may reach beyond: Kokkos rounds it up
/// to whole strides.
template <class View>
auto span_of(const View& view) {
  std::size_t count = 1;
  for (std::size_t dimension = 0; dimension < View::rank(); ++dimension) {
    if (view.extent(dimension) == 0) count = 0;
    if (count > 0) count += (view.extent(dimension) - 1) * view.stride(dimension);
  }
  return Kokkos::View<typename View::value_type*, typename View::memory_space, Kokkos::MemoryUnmanaged>(view.data(),
                                                                                                        count);
}

/// T with an asterisk for each dimension.
template <class T, std::size_t Rank>
struct dynamic_data {
  using type = typename dynamic_data<T*, Rank - 1>::type;
};
template <class T>
struct dynamic_data<T, 0> {
  using type = T;
};

/// A copy of a view on the host, with the same strides.
template <class View>
auto host_copy(const View& view) {
  using data_type = typename dynamic_data<typename View::non_const_value_type, View::rank()>::type;
  Kokkos::LayoutStride layout;
  for (std::size_t dimension = 0; dimension < View::rank(); ++dimension) {
    layout.dimension[dimension] = view.extent(dimension);
    layout.stride[dimension] = view.stride(dimension);
  }
  Kokkos::View<data_type, Kokkos::LayoutStride, Kokkos::HostSpace> copy("host copy", layout);
  Kokkos::deep_copy(span_of(copy), span_of(view));
  return copy;
}

/// Writes a host_copy() back, what lies between the elements too.
template <class View, class Copy>
void write_back(const View& view, const Copy& copy) {
  Kokkos::deep_copy(span_of(view), span_of(copy));
}

}  // namespace prumo::tests
