// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_weights_kernel.hpp"
#include "partial_sums.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace prumo::backend {
namespace {

template <class Exec, class T>
std::string prepare_direct(const Exec&, const backward_weights_problem<T>& problem,
                           prepared_backward_weights& prepared) {
  prepared.longest_chain = host_weights_layout<compute_t<T>>::of(problem).longest_chain();
  return {};
}

template <class Exec, class T>
void run_direct(context<Exec>& ctx, const backward_weights_problem<T>& problem, const prepared_backward_weights&) {
  using C = compute_t<T>;
  using kernel_type = host_weights_kernel<T>;
  using prumo::detail::host_work;
  static const std::string label = "prumo::convolve_backward_weights::direct";
  const auto layout = host_weights_layout<C>::of(problem);
  const std::int64_t elements = problem.images * (problem.in_channels * problem.height * problem.width +
                                                  problem.out_channels * problem.rows * problem.columns);
  const auto work =
      prumo::detail::multiply_add_work<C>(problem.images * problem.rows * layout.pitch * problem.outputs()) +
      host_work::streaming<T, C>(elements);
  const std::int64_t workers = prumo::detail::threads_for(ctx.instance(), work);
  const std::int64_t tiles = prumo::detail::divide_up(problem.out_channels, convolution_tiles::most_channels);
  const std::int64_t parts =
      layout.groups == 0 ? 1 : std::clamp<std::int64_t>(workers / layout.groups, 1, std::max<std::int64_t>(1, tiles));
  const std::int64_t threads = std::min(workers, layout.groups * parts);
  constexpr std::size_t line = 64;
  const auto aligned = [](std::size_t bytes) { return prumo::detail::round_up(bytes, line); };
  const std::size_t offsets_bytes = aligned(static_cast<std::size_t>(problem.taps() + 1) * sizeof(std::int64_t));
  const std::size_t sums_bytes = aligned(static_cast<std::size_t>(layout.groups * problem.outputs()) * sizeof(C));
  auto* const memory = static_cast<std::byte*>(
      ctx.workspace(offsets_bytes + sums_bytes + static_cast<std::size_t>(threads * layout.elements()) * sizeof(C)));
  auto* const offsets = reinterpret_cast<std::int64_t*>(memory);
  auto* const sums = reinterpret_cast<C*>(memory + offsets_bytes);
  kernel_type::write_offsets(problem, layout, offsets);
  prumo::detail::launch_blocks(ctx.instance(), label,
                               kernel_type(problem, layout, threads, parts, offsets, sums,
                                           reinterpret_cast<C*>(memory + offsets_bytes + sums_bytes)),
                               work);
  enqueue_joining(ctx.instance(), problem, sums, layout.groups);
}

}  // namespace

template <class Exec, class T>
backward_weights_candidate<Exec, T> direct_backward_weights_candidate() {
  if constexpr (is_host_space<Exec>) {
    return {"direct", prepare_direct<Exec, T>, run_direct<Exec, T>};
  } else {
    return {};
  }
}

#define PRUMO_INSTANTIATE_DIRECT_BACKWARD_WEIGHTS(Space, T) \
  template backward_weights_candidate<Space, T> direct_backward_weights_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_BACKWARD_WEIGHTS, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_BACKWARD_WEIGHTS, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_BACKWARD_WEIGHTS, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_BACKWARD_WEIGHTS, bf16)

}  // namespace prumo::backend
