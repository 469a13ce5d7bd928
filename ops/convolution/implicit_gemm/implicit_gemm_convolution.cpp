// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "implicit_gemm_choice.hpp"
#include "implicit_gemm_kernel.hpp"
#include "pooled_results.hpp"
#include "recent_layouts.hpp"
#include "weight_columns_kernel.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <string>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

template <class T>
std::int64_t images_at_a_time(const convolution_problem<T>& problem) {
  return problem.is_pooled() ? images_before_pooling(problem) : problem.images;
}

/// The convolution that the kernel computes, of as many images as it takes at a time.
template <class T>
convolution_problem<T> without_pass(const convolution_problem<T>& problem) {
  if (!problem.is_pooled()) return problem;
  auto plain = without_pooling<T>(problem, nullptr);
  plain.images = images_at_a_time(problem);
  return plain;
}

template <class Exec, class T>
timed_implicit_gemm best_layout(const Exec& instance, const convolution_problem<T>& problem) {
  thread_local recent_layouts<timed_implicit_gemm, T> layouts;
  return layouts.find({problem, device_of(instance)},
                      [&] { return implicit_gemm_choice<T>(problem, team_resources_of(instance)).best(); });
}

template <class Exec, class T>
std::string prepare_implicit_gemm(const Exec& instance, const convolution_problem<T>& problem,
                                  prepared_convolution& prepared) {
  if (std::string why_not = why_not_strict(problem); !why_not.empty()) return why_not;
  const auto plain = without_pass(problem);
  const implicit_gemm_choice<T> choice(plain, team_resources{});
  if (const auto why_not = choice.why_not(); !why_not.empty()) return std::string(why_not);
  prepared.implicit_gemm = best_layout(instance, plain).layout;
  if (prepared.implicit_gemm.tile >= 0) return {};
  return "the terms of a row of a filter do not fit into a multiprocessor's memory";
}

template <class Exec, class T>
std::string_view why_not_implicit_gemm(const Exec& instance, const convolution_problem<T>& problem) {
  if (problem.is_pooled() && is_long(problem.activation)) {
    return "to activate all results, and not their maxima alone, takes longer";
  }
  const auto plain = without_pass(problem);
  const double times =
      static_cast<double>(problem.images) / static_cast<double>(std::max<std::int64_t>(1, plain.images));
  if (best_layout(instance, plain).time * times < direct_device_time<Exec, T>(instance, problem)) return {};
  return "'direct' takes less time";
}

template <class T, std::size_t Which = 0, class Visitor>
void with_tile(int which, const Visitor& visit) {
  if constexpr (Which < implicit_gemm_tiles.size()) {
    if (which > static_cast<int>(Which)) return with_tile<T, Which + 1>(which, visit);
    visit.template operator()<implicit_gemm_kernel<T, implicit_gemm_tiles[Which]>>();
  }
}

template <class Exec, class T>
void run_implicit_gemm(context<Exec>& ctx, const convolution_problem<T>& problem,
                       const prepared_convolution& prepared) {
  static const std::string arrange = "prumo::convolve::arrange", multiply = "prumo::convolve::implicit_gemm";
  const implicit_gemm_layout& layout = prepared.implicit_gemm;
  const std::int64_t at_once = images_at_a_time(problem);
  const std::int64_t weights_elements =
      prumo::detail::round_up(problem.taps() * layout.weights_pitch + 1, std::int64_t{64});
  const std::int64_t results_elements =
      problem.is_pooled() ? at_once * problem.out_channels * problem.rows * problem.columns : 0;
  auto* const weights =
      static_cast<T*>(ctx.workspace(static_cast<std::size_t>(weights_elements + results_elements) * sizeof(T)));
  prumo::detail::launch_blocks(ctx.instance(), arrange,
                               weight_columns_kernel<T>(problem, layout.weights_pitch, weights));
  const auto launch = [&](const convolution_problem<T>& part) {
    with_tile<T>(layout.tile, [&]<class Kernel>() {
      prumo::detail::launch_teams(ctx.instance(), multiply, Kernel(part, layout, weights));
    });
  };
  if (!problem.is_pooled()) return launch(problem);
  T* const results = weights + weights_elements;
  for (std::int64_t first = 0; first < problem.images; first += at_once) {
    const auto part = problem.of_images(first, std::min(at_once, problem.images - first));
    launch(without_pooling(part, results));
    enqueue_pooling<Exec, T>(ctx.instance(), part, results);
  }
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
std::optional<convolution_candidate<Exec, T>> implicit_gemm_convolution_candidate() {
  if constexpr (is_host_space<Exec> || !std::is_same_v<T, float>) {
    return std::nullopt;
  } else {
    convolution_candidate<Exec, T> candidate{"implicit_gemm", prepare_implicit_gemm<Exec, T>,
                                             run_implicit_gemm<Exec, T>};
    candidate.why_not_chosen = why_not_implicit_gemm<Exec, T>;
    return candidate;
  }
}

#define PRUMO_INSTANTIATE_IMPLICIT_GEMM(Space, T) \
  template std::optional<convolution_candidate<Space, T>> implicit_gemm_convolution_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_IMPLICIT_GEMM, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_IMPLICIT_GEMM, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_IMPLICIT_GEMM, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_IMPLICIT_GEMM, bf16)

}  // namespace prumo::backend
