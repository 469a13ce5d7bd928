// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Arrays whose type, rank and memory are known at run time. Every operation takes such arrays. C++ programs pass
/// Kokkos Views, which convert to them. Other languages and the measuring programs fill the struct themselves.

#include <prumo/spaces.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace prumo {

/// The highest rank of an array, the same as for Kokkos Views.
inline constexpr int max_rank = 8;

/// The memory spaces of Kokkos, where arrays lie. `other` is a space that prumo does not know. The caller then vouches
/// that operations can access it.
enum class memory_kind : std::uint8_t {
  host,
  cuda,
  cuda_managed,
  cuda_pinned,
  hip,
  hip_managed,
  hip_pinned,
  other,
};

/// The name that Kokkos gives to the memory space.
std::string_view memory_kind_name(memory_kind memory);

namespace detail {

template <class MemorySpace>
constexpr memory_kind memory_kind_of() {
  if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>) return memory_kind::host;
  PRUMO_IF_CUDA(
      if constexpr (std::is_same_v<MemorySpace, Kokkos::CudaSpace>) return memory_kind::cuda;
      if constexpr (std::is_same_v<MemorySpace, Kokkos::CudaUVMSpace>) return memory_kind::cuda_managed;
      if constexpr (std::is_same_v<MemorySpace, Kokkos::CudaHostPinnedSpace>) return memory_kind::cuda_pinned;)
  PRUMO_IF_HIP(if constexpr (std::is_same_v<MemorySpace, Kokkos::HIPSpace>) return memory_kind::hip;
               if constexpr (std::is_same_v<MemorySpace, Kokkos::HIPManagedSpace>) return memory_kind::hip_managed;
               if constexpr (std::is_same_v<MemorySpace, Kokkos::HIPHostPinnedSpace>) return memory_kind::hip_pinned;)
  return memory_kind::other;
}

}  // namespace detail

/// An array of any type, rank and strides, in any memory. It owns nothing. Element (i, j, ...) lies at
/// `data + (i * strides[0] + j * strides[1] + ...) * dtype_size(type)`.
///
/// Extents and strides from `rank` on are never read. They are not cleared, because that would take a third of the time
/// that the host spends on a call before the launch.
struct array_ref {
  void* data = nullptr;  ///< inputs are never written to, whatever this pointer allows
  dtype type = dtype::f32;
  memory_kind memory = memory_kind::host;
  bool read_only = false;  ///< no operation may write to it
  int rank = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];  ///< in elements; 0 and negative ones are allowed

  /// Error messages get the array's label by `read_label(labelled)`. It is null if the array has no label.
  std::string (*read_label)(const void* labelled) = nullptr;
  const void* labelled = nullptr;

  array_ref() = default;

  /// Describes a view. The view must outlive this object, because its label is read when an error message is written.
  template <class View>
    requires Kokkos::is_view_v<View>
  array_ref(const View& view)  // NOLINT(google-explicit-constructor): a view is an array
      : data(const_cast<void*>(static_cast<const void*>(view.data()))),
        type(dtype_of<typename View::value_type>()),
        memory(detail::memory_kind_of<typename View::memory_space>()),
        read_only(std::is_const_v<typename View::value_type>),
        rank(static_cast<int>(View::rank())),
        read_label([](const void* address) { return static_cast<const View*>(address)->label(); }),
        labelled(&view) {
    static_assert(array_element<typename View::value_type>,
                  "prumo::array_ref: the value type is not float, double, prumo::f16, prumo::bf16, prumo::f8_e4m3, "
                  "std::int32_t, std::int64_t or std::uint8_t");
    for (int dimension = 0; dimension < rank; ++dimension) {
      extents[dimension] = static_cast<std::int64_t>(view.extent(static_cast<std::size_t>(dimension)));
      strides[dimension] = static_cast<std::int64_t>(view.stride(static_cast<std::size_t>(dimension)));
    }
  }

  /// No other type is an array. Without this overload, compilers list every conversion that they tried.
  template <class Other>
    requires(!Kokkos::is_view_v<Other>)
  array_ref(const Other& other) = delete;

  /// An array with these extents and strides, or a row-major one if no strides are given. There are at most max_rank
  /// extents.
  array_ref(void* first, dtype element_type, std::initializer_list<std::int64_t> array_extents,
            std::initializer_list<std::int64_t> array_strides = {}, memory_kind where = memory_kind::host);

  /// The number of elements; 1 for rank 0.
  std::int64_t size() const {
    std::int64_t product = 1;
    for (int dimension = 0; dimension < rank; ++dimension) product *= extents[dimension];
    return product;
  }

  /// The elements as values of T. The caller must have looked at `type`.
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// An argument of an operation: an array, and the name that messages call it by.
struct named_array {
  std::string_view name;
  const array_ref& array;
};

/// One line: `x 'my label': f32 [100 x 1024], strides (1024, 1), right, in Host`.
std::string to_string(const named_array& argument);

/// `right` (row-major), `left` (column-major) or `strided`, found out from the strides.
std::string_view layout_name(const array_ref& array);

/// Whether two arrays have the same elements in memory, of the same type and in the same order.
bool same_elements(const array_ref& first, const array_ref& second);

/// The matrix with rows and columns exchanged, in the same memory. The array has rank 2 or more, and its last two
/// dimensions are those of the matrix.
array_ref transposed(const array_ref& matrix);

}  // namespace prumo
