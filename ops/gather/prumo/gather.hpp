// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of a matrix by index: embedding tables, permutations, batches out of a data set.

#include <prumo/array.hpp>
#include <prumo/check.hpp>
#include <prumo/context.hpp>
#include <prumo/detail/word.hpp>

#include <limits>
#include <string>
#include <type_traits>

namespace prumo {
namespace detail {

/// target(i, c) = source(index[i], c), or `missing` where index[i] is no row; words are moved as they are, strides are
/// in words.
template <class Word, class Index>
struct gather_problem {
  const Word* source = nullptr;
  const Index* index = nullptr;
  Word* target = nullptr;
  std::int64_t source_rows = 0;
  std::int64_t rows = 0;  ///< of the target
  std::int64_t columns = 0;
  std::int64_t source_row_stride = 0;
  std::int64_t source_column_stride = 1;
  std::int64_t index_stride = 1;
  std::int64_t target_row_stride = 0;
  std::int64_t target_column_stride = 1;
  std::size_t working_set = 0;
  Word missing = 0;
};

/// Enqueues the kernel.
template <class Exec, class Word, class Index>
void launch_gather_rows(const Exec& instance, const gather_problem<Word, Index>& problem);

/// A view of integers for error messages; describe() knows the types of numbers only.
template <class View>
array_description describe_indices(const View& view, std::string_view role) {
  array_description result;
  result.view = &view;
  result.read_label = [](const void* address) { return static_cast<const View*>(address)->label(); };
  result.role = role;
  result.type = sizeof(typename View::value_type) == 8 ? "i64" : "i32";
  result.space = View::memory_space::name();
  result.rank = 1;
  result.extents[0] = static_cast<std::int64_t>(view.extent(0));
  result.strides[0] = static_cast<std::int64_t>(view.stride(0));
  result.data = view.data();
  result.element_bytes = sizeof(typename View::value_type);
  return result;
}

}  // namespace detail

/// y(i, c) = x(index(i), c) for every i and c.
///
/// x: [n x columns], y: [rows x columns] of any layouts and strides and of the same value type; index: [rows], of
/// std::int64_t or std::int32_t, in any order, repeated as you like. y may overlap neither. An index that is negative
/// or not below n reads nothing: its row of y becomes NaN, as a kernel cannot throw; check with `isnan` where indices
/// come from outside. Asynchronous. Throws shape_error and alias_error.
template <context_or_instance Space, class X, class Index, class Y>
void gather_rows(const Space& space, const X& x, const Index& index, const Y& y) {
  using exec = detail::execution_space_of_t<Space>;
  static_assert(Kokkos::is_view_v<X> && Kokkos::is_view_v<Index> && Kokkos::is_view_v<Y>,
                "prumo::gather_rows: x, index and y are Kokkos views");
  static_assert(X::rank() == 2 && Index::rank() == 1 && Y::rank() == 2,
                "prumo::gather_rows: x and y are matrices, and index is a vector");
  using T = typename Y::value_type;
  using index_type = typename Index::non_const_value_type;
  static_assert(std::is_same_v<typename X::non_const_value_type, T>,
                "prumo::gather_rows: x and y differ in value type, or y is const");
  static_assert(scalar<T>, "prumo::gather_rows: the value type is not float, double, prumo::f16 or prumo::bf16");
  static_assert(std::is_integral_v<index_type> && std::is_signed_v<index_type> &&
                    (sizeof(index_type) == 8 || sizeof(index_type) == 4),
                "prumo::gather_rows: indices are std::int64_t or std::int32_t");
  static_assert(accessible_from<X, exec> && accessible_from<Index, exec> && accessible_from<Y, exec>,
                "prumo::gather_rows: a view cannot be accessed from the execution space");
  const array_description described_x = describe(x, "x");
  const array_description described_index = detail::describe_indices(index, "index");
  const array_description described_y = describe(y, "y");
  if (described_y.extents[0] != described_index.extents[0] || described_y.extents[1] != described_x.extents[1]) {
    check::throw_shape("prumo::gather_rows", "y of as many rows as there are indices, and of as many columns as x",
                       {described_x, described_index, described_y});
  }
  check::distinct_elements("prumo::gather_rows", described_y);
  check::no_overlap("prumo::gather_rows", described_y, described_x, aliasing::none);
  check::no_overlap("prumo::gather_rows", described_y, described_index, aliasing::none);
  using word = detail::word_of<T>;
  using lowered_index = std::conditional_t<sizeof(index_type) == 8, std::int64_t, std::int32_t>;
  detail::gather_problem<word, lowered_index> problem;
  problem.source = reinterpret_cast<const word*>(x.data());
  problem.index = reinterpret_cast<const lowered_index*>(index.data());
  problem.target = reinterpret_cast<word*>(y.data());
  problem.source_rows = described_x.extents[0];
  problem.rows = described_y.extents[0];
  problem.columns = described_y.extents[1];
  problem.source_row_stride = described_x.strides[0];
  problem.source_column_stride = described_x.strides[1];
  problem.index_stride = described_index.strides[0];
  problem.target_row_stride = described_y.strides[0];
  problem.target_column_stride = described_y.strides[1];
  problem.working_set = detail::working_set_of(space);
  problem.missing = Kokkos::bit_cast<word>(T(std::numeric_limits<float>::quiet_NaN()));
  detail::launch_gather_rows(detail::instance_of(space), problem);
}

}  // namespace prumo
