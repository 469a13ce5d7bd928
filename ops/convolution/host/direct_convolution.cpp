// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "direct_convolution_kernel.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>

namespace prumo::backend {
namespace {

template <class Exec, class T>
void run_direct(context<Exec>& ctx, const convolution_problem<T>& problem) {
  using C = compute_t<T>;
  using kernel_type = direct_convolution_kernel<T>;
  using prumo::detail::host_work;
  constexpr double of_a_weight = 1;  // nanoseconds
  static const std::string filters_label = "prumo::convolve::filters", label = "prumo::convolve::direct";
  const auto taps = static_cast<std::size_t>(problem.taps());
  const double elements = static_cast<double>(problem.images) *
                          (static_cast<double>(problem.in_channels * problem.height * problem.width) +
                           static_cast<double>(problem.out_channels * problem.y_rows * problem.y_columns));
  const auto places = problem.images * problem.rows * problem.columns;
  const auto work = prumo::detail::multiply_add_work<C>(places * problem.out_channels * problem.taps()) +
                    host_work::streaming<T, C>(static_cast<std::int64_t>(elements));
  const std::int64_t workers = prumo::detail::threads_for(ctx.instance(), work);
  const bool streaming =
      prumo::detail::has_streaming_stores &&
      prumo::detail::should_stream(static_cast<std::size_t>(elements) * sizeof(T), problem.working_set);
  const auto layout = direct_layout::of(problem, workers, streaming);
  const std::int64_t threads = std::min(workers, problem.images * layout.bands * layout.parts);
  constexpr std::size_t line = 64;
  const auto aligned = [](std::size_t bytes) { return prumo::detail::round_up(bytes, line); };
  const auto channels = static_cast<std::size_t>(layout.template channels_of_tiles<C>(problem.out_channels));
  const std::size_t weights_bytes = aligned(channels * taps * sizeof(C));
  const std::size_t offsets_bytes = aligned(taps * sizeof(std::int64_t));
  const std::size_t thread_bytes = kernel_type::thread_bytes(problem, layout);
  auto* const memory = static_cast<std::byte*>(
      ctx.workspace(weights_bytes + offsets_bytes + static_cast<std::size_t>(threads) * thread_bytes));
  auto* const weights = reinterpret_cast<C*>(memory);
  auto* const offsets = reinterpret_cast<std::int64_t*>(memory + weights_bytes);
  prumo::detail::launch_blocks(ctx.instance(), filters_label,
                               direct_filter_kernel<T>(problem, layout, weights, offsets),
                               host_work::repeated(problem.out_channels * problem.taps(), of_a_weight));
  prumo::detail::launch_blocks(
      ctx.instance(), label,
      kernel_type(problem, layout, threads, streaming, weights, offsets, memory + weights_bytes + offsets_bytes), work);
}

}  // namespace

template <class Exec, class T>
convolution_candidate<Exec, T> direct_convolution_candidate() {
  if constexpr (is_host_space<Exec>) {
    return {"direct",
            [](const Exec&, const convolution_problem<T>& problem, prepared_convolution&) {
              return why_not_strict(problem);
            },
            [](context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution&) {
              run_direct(ctx, problem);
            }};
  } else {
    return {};
  }
}

#define PRUMO_INSTANTIATE_DIRECT_CONVOLUTION(Space, T) \
  template convolution_candidate<Space, T> direct_convolution_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_DIRECT_CONVOLUTION, bf16)

}  // namespace prumo::backend
