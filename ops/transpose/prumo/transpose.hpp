// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The transpose of a matrix, from one place in memory to another.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>
#include <prumo/detail/word.hpp>
#include <prumo/memory.hpp>

#include <type_traits>
#include <utility>

namespace prumo {
namespace detail {

/// target(c, r) = source(r, c), of words that are moved as they are; strides in words.
template <class Word>
struct transpose_problem {
  const Word* source = nullptr;
  Word* target = nullptr;
  std::int64_t rows = 0;  ///< of the source
  std::int64_t columns = 0;
  std::int64_t source_row_stride = 0;
  std::int64_t source_column_stride = 1;
  std::int64_t target_row_stride = 0;  ///< from source column c to c + 1
  std::int64_t target_column_stride = 1;
  std::size_t working_set = 0;

  /// Lets columns be what lies closer together in the source, and tells whether it is rows in the target: if not,
  /// source and target lie alike in memory, and a copy is all there is to do.
  bool turn_to_source() {
    if (columns <= 1 || (rows > 1 && source_row_stride < source_column_stride)) {
      std::swap(rows, columns);
      std::swap(source_row_stride, source_column_stride);
      std::swap(target_row_stride, target_column_stride);
    }
    return rows > 1 && columns > 1 && target_column_stride < target_row_stride;
  }
};

/// Enqueues the kernel.
template <class Exec, class Word>
void launch_transpose(const Exec& instance, const transpose_problem<Word>& problem);

}  // namespace detail

/// y(c, r) = x(r, c), every element.
///
/// x: [rows x columns], y: [columns x rows], of any layouts and strides and of the same value type. x and y may not
/// overlap: a transpose in place is not offered. Asynchronous. Throws shape_error and alias_error.
template <context_or_instance Space, class X, class Y>
void transpose(const Space& space, const X& x, const Y& y) {
  using exec = detail::execution_space_of_t<Space>;
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Y>, "prumo::transpose: x and y are Kokkos views");
  static_assert(X::rank() == 2 && Y::rank() == 2, "prumo::transpose: x and y are matrices");
  static_assert(std::is_same_v<typename X::non_const_value_type, typename Y::value_type>,
                "prumo::transpose: x and y differ in value type, or y is const");
  static_assert(scalar<typename Y::value_type>,
                "prumo::transpose: the value type is not float, double, prumo::f16 or prumo::bf16");
  static_assert(accessible_from<X, exec> && accessible_from<Y, exec>,
                "prumo::transpose: a view cannot be accessed from the execution space");
  const array_description described_x = describe(x, "x");
  const array_description described_y = describe(y, "y");
  if (described_y.extents[0] != described_x.extents[1] || described_y.extents[1] != described_x.extents[0]) {
    check::throw_shape("prumo::transpose", "y of as many rows as x has columns, and of as many columns as x has rows",
                       {described_x, described_y});
  }
  check::distinct_elements("prumo::transpose", described_y);
  check::no_overlap("prumo::transpose", described_y, described_x, aliasing::none);
  using word = detail::word_of<typename Y::value_type>;
  detail::transpose_problem<word> problem;
  problem.source = reinterpret_cast<const word*>(x.data());
  problem.target = reinterpret_cast<word*>(y.data());
  problem.rows = described_x.extents[0];
  problem.columns = described_x.extents[1];
  problem.source_row_stride = described_x.strides[0];
  problem.source_column_stride = described_x.strides[1];
  problem.target_row_stride = described_y.strides[0];
  problem.target_column_stride = described_y.strides[1];
  problem.working_set = detail::working_set_of(space);
  if (!problem.turn_to_source()) {
    const Kokkos::View<typename Y::value_type**, Kokkos::LayoutStride, typename Y::memory_space,
                       Kokkos::MemoryUnmanaged>
        turned(y.data(), Kokkos::LayoutStride(y.extent(1), y.stride(1), y.extent(0), y.stride(0)));
    copy(space, x, turned);
    return;
  }
  detail::launch_transpose(detail::instance_of(space), problem);
}

}  // namespace prumo
