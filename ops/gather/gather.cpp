// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gather_device_kernel.hpp"
#include "gather_host_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/word.hpp>
#include <prumo/gather.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace prumo::detail {
namespace {

const std::string rows_label = "prumo::gather_rows::rows";
const std::string words_label = "prumo::gather_rows::words";
const std::string packs_label = "prumo::gather_rows::packs";

template <class Exec, class Word, class Index>
void launch_words(const Exec& instance, const gather_problem<Word, Index>& problem) {
  if constexpr (sizeof(Word) <= sizeof(std::uint32_t)) {
    using packs = gather_packs_kernel<Word, Index>;
    if (packs::suits(problem)) return launch_teams(instance, packs_label, packs(problem));
  }
  const auto launch = [&]<gather_order Order>() {
    launch_teams(instance, words_label, gather_words_kernel<Word, Index, Order>(problem));
  };
  if (gather_places<Word, Index, gather_order::contiguous>::are_in(problem)) {
    return launch.template operator()<gather_order::contiguous>();
  }
  const bool is_column_major = std::abs(problem.target_row_stride) < std::abs(problem.target_column_stride);
  if (is_column_major && problem.rows > 1) return launch.template operator()<gather_order::by_columns>();
  launch.template operator()<gather_order::by_rows>();
}

/// Moves the widest words that rows consist of.
template <class Exec, class Word, class Index>
void launch_on_device(const Exec& instance, const gather_problem<Word, Index>& problem) {
  if constexpr (sizeof(Word) < 2 * sizeof(std::uint64_t)) {
    using wide = std::conditional_t<sizeof(Word) == 2, std::uint32_t,
                                    std::conditional_t<sizeof(Word) == 4, std::uint64_t, device_pack<std::uint32_t>>>;
    if (has_words_to_gather<wide>(problem)) return launch_on_device(instance, in_words_to_gather<wide>(problem));
  }
  for_each_part_to_gather(problem, most_words_to_gather,
                          [&](const gather_problem<Word, Index>& part) { launch_words(instance, part); });
}

template <class Exec, class Word, class Index>
void launch_gather_rows(const Exec& instance, const gather_problem<Word, Index>& problem) {
  if constexpr (is_host_space<Exec>) {
    const std::int64_t rows_read = std::min(problem.rows, problem.source_rows);
    const std::size_t footprint = static_cast<std::size_t>((problem.rows + rows_read) * problem.columns) * sizeof(Word);
    constexpr std::size_t few_bytes = std::size_t{1} << 20;
    const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set, few_bytes);
    constexpr double of_a_row = 1;
    const host_work work = host_work::streaming<Word, Word>(problem.rows * problem.columns) +
                           host_work::repeated(problem.rows, of_a_row) + memory_work(footprint, problem.working_set);
    launch_blocks(instance, rows_label,
                  gather_host_kernel<Word, Index>(problem, threads_for(instance, work), streaming), work);
  } else {
    launch_on_device(instance, problem);
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
