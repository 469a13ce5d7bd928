// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transpose_device_kernel.hpp"
#include "transpose_direct_kernel.hpp"
#include "transpose_host_kernel.hpp"
#include "transpose_packs_kernel.hpp"
#include "transpose_thin_device_kernel.hpp"
#include "transpose_thin_host_kernel.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/word.hpp>
#include <prumo/memory.hpp>
#include <prumo/transpose.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace prumo::detail {
namespace {

const std::string tiles_label = "prumo::transpose::tiles";
const std::string direct_label = "prumo::transpose::direct";
const std::string narrow_label = "prumo::transpose::narrow";
const std::string thin_label = "prumo::transpose::thin";

template <class Word>
bool can_use_packs(const transpose_problem<Word>& problem) {
  return problem.source_column_stride == 1 && problem.target_column_stride == 1 &&
         can_load_packs(problem.source, problem.source_row_stride) &&
         can_load_packs<Word>(problem.target, problem.target_row_stride);
}

/// Launches the kernel for matrices of Width rows or columns, if it takes this one.
template <int Width, bool LinesAreRead, class Exec, class Word>
bool try_thin(const Exec& instance, const transpose_problem<Word>& problem) {
  using kernel = transpose_thin_device_kernel<Word, Width, LinesAreRead>;
  const bool takes = kernel::can_take(problem);
  if (takes) launch_teams(instance, thin_label, kernel(problem));
  return takes;
}

/// The widths were measured on an H200: with more columns, the loads of neighbouring threads lie too far apart, and
/// with more rows of 16 bits, registers do not suffice.
template <class Exec, class Word>
bool try_thin(const Exec& instance, const transpose_problem<Word>& problem) {
  return try_thin<2, true>(instance, problem) || try_thin<3, true>(instance, problem) ||
         try_thin<4, true>(instance, problem) || try_thin<5, true>(instance, problem) ||
         try_thin<6, true>(instance, problem) || try_thin<7, true>(instance, problem) ||
         try_thin<2, false>(instance, problem) || try_thin<3, false>(instance, problem);
}

template <class Exec, class Word>
void launch_on_device(const Exec& instance, const transpose_problem<Word>& problem) {
  const bool fits_packs = can_use_packs(problem);
  const std::int64_t narrow_side = std::min(problem.rows, problem.columns);
  // From half a tile on, its kernel is as good.
  constexpr std::int64_t half_tile = 32;
  const auto try_form = [&]<transpose_form Form>(const std::string& label) {
    using kernel = transpose_packs_kernel<Word, Form>;
    const bool takes = kernel::can_take(problem);
    if (takes) launch_teams(instance, label, kernel(problem));
    return takes;
  };
  if (!fits_packs || narrow_side < half_tile) {
    if (try_thin(instance, problem)) return;
    if (transpose_direct_kernel<Word>::can_take(problem)) {
      return launch_blocks(instance, direct_label, transpose_direct_kernel<Word>(problem));
    }
    if (try_form.template operator()<transpose_form::narrow_source>(narrow_label)) return;
    if (try_form.template operator()<transpose_form::narrow_target>(narrow_label)) return;
  }
  if (fits_packs) return launch_teams(instance, tiles_label, transpose_device_kernel<Word, true>(problem));
  if (try_form.template operator()<transpose_form::tiles>(tiles_label)) return;
  launch_teams(instance, tiles_label, transpose_device_kernel<Word, false>(problem));
}

template <class Exec, class Word>
void launch_transpose(const Exec& instance, const transpose_problem<Word>& problem) {
  if constexpr (is_host_space<Exec>) {
    const std::size_t footprint = static_cast<std::size_t>(problem.rows * problem.columns) * 2 * sizeof(Word);
    constexpr std::size_t few_bytes = std::size_t{1} << 18;
    const bool streaming = has_streaming_stores && should_stream(footprint, problem.working_set, few_bytes);
    constexpr double of_an_element = 0.04;
    const std::int64_t elements = problem.rows * problem.columns;
    const host_work work = host_work::streaming<Word, Word>(elements) + host_work::repeated(elements, of_an_element) +
                           memory_work(footprint, problem.working_set);
    const int threads = threads_for(instance, work);
    if (transpose_thin_host_kernel<Word>::can_take(problem, streaming)) {
      return launch_blocks(instance, narrow_label, transpose_thin_host_kernel<Word>(problem, threads, streaming), work);
    }
    using kernel = transpose_host_kernel<Word>;
    const bool streams_tiles = streaming && !kernel::prefetches_rather_than_streams(threads);
    launch_blocks(instance, tiles_label, kernel(problem, threads, streams_tiles), work);
  } else {
    launch_on_device(instance, problem);
  }
}

}  // namespace
}  // namespace prumo::detail

void prumo::transpose(instance_ref space, const array_ref& x, const array_ref& y) {
  constexpr std::string_view operation = "prumo::transpose";
  check::arrays(operation, space, {{"y", y}}, {{"x", x}});
  check::same_scalar_type(operation, {{"x", x}, {"y", y}});
  check::rank(operation, {"x", x}, 2);
  check::rank(operation, {"y", y}, 2);
  if (y.extents[0] != x.extents[1] || y.extents[1] != x.extents[0]) {
    check::throw_shape(operation, "y with the rows of x as its columns, and the columns of x as its rows",
                       {{"x", x}, {"y", y}});
  }
  if (y.size() == 0) return;
  bool is_copy = false;
  detail::with_space(space.space(), [&]<class Exec> {
    detail::with_word(y.type, [&]<class Word> {
      detail::transpose_problem<Word> problem{x.as<const Word>(), y.as<Word>(), x.extents[0],
                                              x.extents[1],       x.strides[0], x.strides[1],
                                              y.strides[0],       y.strides[1], space.working_set()};
      is_copy = !problem.turn_to_source();
      if (!is_copy) detail::launch_transpose(space.instance<Exec>(), problem);
    });
  });
  if (is_copy) copy(space, x, transposed(y));
}
