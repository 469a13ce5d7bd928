// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Views lowered to plain structs. Operations take Kokkos Views of any layout, check them, and hand kernels these
/// structs only, so that a kernel is compiled once a type and not once a layout, rank or memory trait.

#include <prumo/types.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace prumo {

/// The highest rank of an array; that of Kokkos Views.
inline constexpr int max_rank = 8;

/// A lowered view: where element (i, j, ...) lies is `data + i * strides[0] + j * strides[1] + ...`, in elements.
///
/// Extents and strides from `rank` on are left as they are: to clear them would be a third of what a call of an
/// operation does on the host before its launch.
template <class T>
struct array {
  T* data = nullptr;
  int rank = 0;
  std::int64_t extents[max_rank];
  std::int64_t strides[max_rank];

  /// The number of elements; 1 for rank 0.
  KOKKOS_FUNCTION std::int64_t size() const {
    std::int64_t product = 1;
    for (int dimension = 0; dimension < rank; ++dimension) product *= extents[dimension];
    return product;
  }
};

/// What error messages tell of an array, and what overlap is judged by. Cheap to make: the label is read from the view
/// only when a message is written, so the view must still be there.
struct array_description {
  const void* view = nullptr;
  std::string (*read_label)(const void* view) = nullptr;
  std::string_view role;
  std::string_view type;
  const char* space = "";
  int rank = 0;
  std::int64_t extents[max_rank];  ///< so many as the rank; the rest is left as it is, and so are the strides
  std::int64_t strides[max_rank];
  const void* data = nullptr;
  std::size_t element_bytes = 0;
};

/// One line: `x 'my label': f32 [100 x 1024], strides (1024, 1), right, in Host`.
std::string to_string(const array_description& description);

/// `right` (row-major), `left` (column-major) or `strided`, as the strides show.
std::string_view layout_name(const array_description& description);

/// Whether the address ranges that two arrays span have a byte in common. Interleaved arrays that share no element
/// count as overlapping: the check is on spans.
bool spans_overlap(const array_description& first, const array_description& second);

/// Whether two arrays are the same elements, of the same type, in the same order.
bool same_elements(const array_description& first, const array_description& second);

namespace detail {

template <class T, class View>
array<T> lower_to(const View& view) {
  static_assert(Kokkos::is_view_v<View>, "prumo::lower: the argument is not a Kokkos::View");
  static_assert(stored_scalar<typename View::value_type>,
                "prumo::lower: the value type is not float, double, prumo::f16, prumo::bf16 or prumo::f8_e4m3");
  array<T> result;
  result.data = view.data();
  result.rank = static_cast<int>(View::rank());
  for (int dimension = 0; dimension < result.rank; ++dimension) {
    result.extents[dimension] = static_cast<std::int64_t>(view.extent(static_cast<std::size_t>(dimension)));
    result.strides[dimension] = static_cast<std::int64_t>(view.stride(static_cast<std::size_t>(dimension)));
  }
  return result;
}

}  // namespace detail

/// Lowers a view.
template <class View>
array<typename View::value_type> lower(const View& view) {
  return detail::lower_to<typename View::value_type>(view);
}

/// Lowers a view to an array that is read only.
template <class View>
array<const typename View::non_const_value_type> lower_const(const View& view) {
  return detail::lower_to<const typename View::non_const_value_type>(view);
}

/// Describes a view for a message, of scalars or of indices; `role`, the argument's name, stands for a view without a
/// label.
template <class View>
array_description describe(const View& view, std::string_view role) {
  using value_type = std::remove_cv_t<typename View::value_type>;
  array_description result;
  result.view = &view;
  result.read_label = [](const void* address) { return static_cast<const View*>(address)->label(); };
  result.role = role;
  if constexpr (std::is_same_v<value_type, std::int64_t>) {
    result.type = "i64";
  } else {
    result.type = scalar_traits<value_type>::name;
  }
  result.space = View::memory_space::name();
  result.rank = static_cast<int>(View::rank());
  for (int dimension = 0; dimension < result.rank; ++dimension) {
    result.extents[dimension] = static_cast<std::int64_t>(view.extent(static_cast<std::size_t>(dimension)));
    result.strides[dimension] = static_cast<std::int64_t>(view.stride(static_cast<std::size_t>(dimension)));
  }
  result.data = view.data();
  result.element_bytes = sizeof(value_type);
  return result;
}

}  // namespace prumo
