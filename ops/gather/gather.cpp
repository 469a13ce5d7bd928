// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gather_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/word.hpp>
#include <prumo/gather.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace prumo::detail {
namespace {

const std::string rows_label = "prumo::gather_rows::rows";

template <class Word, class Index>
bool can_use_packs(const gather_problem<Word, Index>& problem) {
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
         problem.columns % device_pack_elements<Word> == 0 &&
         can_load_packs(problem.source, problem.source_row_stride) &&
         can_load_packs<Word>(problem.target, problem.target_row_stride);
}

template <class Exec, class Word, class Index>
void launch_gather_rows(const Exec& instance, const gather_problem<Word, Index>& problem) {
  if constexpr (is_host_space<Exec>) {
    const std::int64_t rows_read = std::min(problem.rows, problem.source_rows);
    const std::size_t footprint = static_cast<std::size_t>((problem.rows + rows_read) * problem.columns) * sizeof(Word);
    const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set);
    constexpr double of_a_row = 1;
    const host_work work =
        host_work::streaming<Word, Word>(problem.rows * problem.columns) + host_work::repeated(problem.rows, of_a_row);
    launch_blocks(instance, rows_label,
                  gather_host_kernel<Word, Index>(problem, threads_for(instance, work), streaming), work);
  } else if (can_use_packs(problem)) {
    launch_teams(instance, rows_label, gather_device_kernel<Word, Index, true>(problem));
  } else {
    launch_teams(instance, rows_label, gather_device_kernel<Word, Index, false>(problem));
  }
}

/// Calls `visit.template operator()<Index>()`.
template <class Visitor>
void with_index(dtype type, const Visitor& visit) {
  if (type == dtype::i64) {
    visit.template operator()<std::int64_t>();
  } else {
    visit.template operator()<std::int32_t>();
  }
}

}  // namespace
}  // namespace prumo::detail

void prumo::gather_rows(instance_ref space, const array_ref& x, const array_ref& index, const array_ref& y) {
  constexpr std::string_view operation = "prumo::gather_rows";
  check::arrays(operation, space, {{"y", y}}, {{"x", x}, {"index", index}});
  check::same_scalar_type(operation, {{"x", x}, {"y", y}});
  check::rank(operation, {"x", x}, 2);
  check::rank(operation, {"index", index}, 1);
  check::rank(operation, {"y", y}, 2);
  if (index.type != dtype::i64 && index.type != dtype::i32) {
    check::throw_argument(operation, "indices of i64 or i32", {{"index", index}});
  }
  if (y.extents[0] != index.extents[0] || y.extents[1] != x.extents[1]) {
    check::throw_shape(operation, "y with a row for each index, and with the columns of x",
                       {{"x", x}, {"index", index}, {"y", y}});
  }
  if (y.size() == 0) return;
  detail::with_space(space.space(), [&]<class Exec> {
    detail::with_word(y.type, [&]<class Word> {
      detail::with_index(index.type, [&]<class Index> {
        detail::launch_gather_rows(
            space.instance<Exec>(),
            detail::gather_problem<Word, Index>{
                x.as<const Word>(), index.as<const Index>(), y.as<Word>(), x.extents[0], y.extents[0], y.extents[1],
                x.strides[0], x.strides[1], index.strides[0], y.strides[0], y.strides[1], space.working_set(),
                detail::word_of_value<Word>(std::numeric_limits<double>::quiet_NaN(), y.type)});
      });
    });
  });
}
