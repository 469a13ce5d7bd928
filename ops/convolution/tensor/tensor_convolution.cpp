// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pooled_results.hpp"
#include "recent_layouts.hpp"
#include "tensor_choice.hpp"
#include "tensor_kernel.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/rounding.hpp>
#include <prumo/spaces.hpp>

#include <string>

namespace prumo::backend {
namespace {

#if defined(PRUMO_HAS_TENSOR_UNITS)

/// Whether the kernel pools, as far as a thread has whole windows, and activates maxima alone. Other windows are pooled
/// by a pass of their own.
template <class T>
bool pools_in_kernel(const convolution_problem<T>& problem) {
  const pooling_window& window = problem.window;
  const std::int64_t side = window.height;
  return problem.activates_maxima() && (side == 2 || side == 4) && window.width == side && window.row_stride == side &&
         window.column_stride == side && window.row_padding == 0 && window.column_padding == 0;
}

/// Whether a pass of its own pools.
template <class T>
bool has_pooling_pass(const convolution_problem<T>& problem) {
  return problem.is_pooled() && !pools_in_kernel(problem);
}

/// Whether images of one channel are left to `direct`, which has kernels for them. On an H200, `tensor` took 1.1 to 2
/// times as long for f32 with filters of 5 x 5 and 7 x 7, and 0.8 of the time with 3 x 3. With 16 bits, it took 1.1 to
/// 1.4 times as long with 6 filters of 5 x 5 and maxima of their results, 0.7 with 16 filters of 3 x 3, and 0.4 to 0.9
/// without maxima; 1.5 for batches of 100 images, but parts of a batch shall have the same bits.
template <class T>
bool is_for_direct(const convolution_problem<T>& problem) {
  constexpr std::int64_t few_taps = 27, few_channels = 8, many_taps = 16;
  if (problem.in_channels > 1 || problem.row_stride != 1 || problem.column_stride != 1) return false;
  if constexpr (sizeof(T) == 4) return problem.taps() >= many_taps;
  return problem.is_pooled() && problem.taps() < few_taps && problem.out_channels <= few_channels;
}

/// Whether it would take longer to activate all results than the matrix units save. `direct` activates maxima alone.
/// By the times of whole nets and of convolutions without activation on an H200, in f16, a tanh of each result takes as
/// long as 150 products of `direct`, and the units compute a product in half of its time.
template <class T>
bool has_long_activations(const convolution_problem<T>& problem) {
  constexpr std::int64_t least_products = 288;
  return problem.activates_maxima() && is_long(problem.activation) && problem.taps() < least_products;
}

/// Whether a unit's rows are shared by rows or columns of results.
inline bool has_few_channels(const tensor_layout& layout) { return layout.stacked_rows * layout.stacked_columns > 1; }

template <class T>
std::string prepare_tensor(const Kokkos::Cuda& instance, const convolution_problem<T>& problem,
                           prepared_convolution& prepared) {
  if constexpr (std::is_same_v<T, double>) {
    return "it is for f16 and bf16, and for f32 in mode fast_tf32";
  } else {
    if (problem.mode != (sizeof(T) == 2 ? gemm_mode::strict : gemm_mode::fast_tf32)) {
      return "it is for f16 and bf16 in mode strict, and for f32 in mode fast_tf32";
    }
    if (is_for_direct(problem)) {
      return "images of one channel have so few products that the kernel without matrix units is faster";
    }
    auto plain = problem;
    if (has_pooling_pass(problem)) {
      if (problem.pooling == convolution_pooling::mean && sizeof(T) == 2) {
        return "the mean of results that were rounded to 16 bits would be rounded twice";
      }
      if (has_long_activations(problem)) {
        return "to activate all results, and not their maxima alone, takes longer than the matrix units save";
      }
      plain = without_pooling<T>(problem, nullptr);
      plain.images = images_before_pooling(problem);
    }
    thread_local recent_layouts<tensor_layout, T> layouts;
    prepared.tensor = layouts.find({plain, device_of(instance)},
                                   [&] { return best_tensor_layout(plain, team_resources_of(instance)); });
    if (prepared.tensor.images == 0)
      return "a row of an image and the filters do not fit into a multiprocessor's memory";
    if (has_pooling_pass(problem) && has_few_channels(prepared.tensor)) {
      return "with few output channels, the pass that pools takes longer than the matrix units save";
    }
    return {};
  }
}

template <class T, int WarpTiles>
void launch_tensor_kernel(const Kokkos::Cuda& instance, const convolution_problem<T>& problem,
                          const tensor_layout& layout, const std::uint32_t* weights) {
  static const std::string label = "prumo::convolve::tensor";
  const std::int64_t teams = layout.parts * std::min<std::int64_t>(layout.image_bands(problem.images),
                                                                   std::max(1, layout.most_teams / layout.parts));
  const auto launch = [&]<int Window>() {
    prumo::detail::launch_teams(instance, label, tensor_kernel<T, WarpTiles, Window>(problem, layout, weights, teams));
  };
  if (!problem.is_pooled()) return launch.template operator()<1>();
  if (problem.window.height == 2) return launch.template operator()<2>();
  launch.template operator()<4>();
}

template <class T>
void launch_tensor(const Kokkos::Cuda& instance, const convolution_problem<T>& problem, const tensor_layout& layout,
                   const std::uint32_t* weights) {
  switch (layout.warp_tiles) {
    case 1: return launch_tensor_kernel<T, 1>(instance, problem, layout, weights);
    case 2: return launch_tensor_kernel<T, 2>(instance, problem, layout, weights);
    default: return launch_tensor_kernel<T, 4>(instance, problem, layout, weights);
  }
}

template <class T>
void run_tensor(context<Kokkos::Cuda>& ctx, const convolution_problem<T>& problem,
                const prepared_convolution& prepared) {
  if constexpr (!std::is_same_v<T, double>) {
    const tensor_layout& layout = prepared.tensor;
    const bool has_pass = has_pooling_pass(problem);
    const std::int64_t at_once = images_before_pooling(problem);
    const std::int64_t results = has_pass ? at_once * problem.out_channels * problem.rows * problem.columns : 0;
    const std::int64_t result_words =
        prumo::detail::round_up(results * std::int64_t{sizeof(T)} / 4 + 1, std::int64_t{64});
    const std::int64_t weights_words =
        layout.has_arranged_weights() ? std::int64_t{layout.parts} * layout.slices * layout.weights_words() : 0;
    std::uint32_t* words = nullptr;
    if (has_pass || weights_words > 0) {
      words = static_cast<std::uint32_t*>(
          ctx.workspace(static_cast<std::size_t>(result_words + weights_words) * sizeof(std::uint32_t)));
    }
    std::uint32_t* const weights = weights_words > 0 ? words + result_words : nullptr;
    if (weights_words > 0) {
      static const std::string label = "prumo::convolve::arrange";
      prumo::detail::launch_blocks(ctx.instance(), label, arranging_kernel<T>(problem, layout, weights));
    }
    if (!has_pass) return launch_tensor(ctx.instance(), problem, layout, weights);
    auto* const unpooled = reinterpret_cast<T*>(words);
    for (std::int64_t first = 0; first < problem.images; first += at_once) {
      const auto part = problem.of_images(first, std::min(at_once, problem.images - first));
      launch_tensor(ctx.instance(), without_pooling(part, unpooled), layout, weights);
      enqueue_pooling<Kokkos::Cuda, T>(ctx.instance(), part, unpooled);
    }
  }
}

#endif

}  // namespace

template <class Exec, class T>
std::optional<convolution_candidate<Exec, T>> tensor_convolution_candidate() {
#if defined(PRUMO_HAS_TENSOR_UNITS)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    return convolution_candidate<Exec, T>{"tensor", prepare_tensor<T>, run_tensor<T>};
  }
#endif
  return std::nullopt;
}

#define PRUMO_INSTANTIATE_TENSOR_CONVOLUTION(Space, T) \
  template std::optional<convolution_candidate<Space, T>> tensor_convolution_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TENSOR_CONVOLUTION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TENSOR_CONVOLUTION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TENSOR_CONVOLUTION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TENSOR_CONVOLUTION, bf16)

}  // namespace prumo::backend
