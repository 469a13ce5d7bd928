// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pooled_results.hpp"
#include "recent_layouts.hpp"
#include "tensor_choice.hpp"
#include "tensor_kernel.hpp"
#include <prumo/spaces.hpp>

#include <string>

namespace prumo::backend {
namespace {

#if defined(PRUMO_HAS_TENSOR_UNITS)

/// The images whose results are kept until they are pooled. They should not leave the device's cache.
template <class T>
std::int64_t images_before_pooling(const convolution_problem<T>& problem) {
  constexpr std::int64_t cached_bytes = std::int64_t{24} << 20;
  const std::int64_t bytes = problem.out_channels * problem.rows * problem.columns * std::int64_t{sizeof(T)};
  return std::clamp<std::int64_t>(cached_bytes / std::max<std::int64_t>(1, bytes), 1,
                                  std::max<std::int64_t>(1, problem.images));
}

/// The convolution alone of some images, with results without gaps at `results`.
template <class T>
convolution_problem<T> without_pooling(const convolution_problem<T>& problem, T* results) {
  convolution_problem<T> plain = problem;
  const std::int64_t plane = problem.rows * problem.columns;
  plain.pooling = convolution_pooling::none;
  plain.y = {results, problem.out_channels * plane, plane, problem.columns, 1};
  plain.y_rows = problem.rows;
  plain.y_columns = problem.columns;
  return plain;
}

/// Whether each result has so few products that loads and stores take the time, and not the products. `direct` has less
/// to do beside them. With one channel and 4 to 64 filters of 3 x 3 and 5 x 5, it took 0.6 to 0.98 of the time on an
/// H200. Strides were not measured.
template <class T>
bool has_few_products(const convolution_problem<T>& problem) {
  constexpr std::int64_t least_products = 27;  // three channels, filters of 3 x 3: both take as long
  return problem.row_stride == 1 && problem.column_stride == 1 && problem.taps() < least_products;
}

/// Whether the kernel pools, as far as a thread has whole windows, and activates maxima alone. Other windows are pooled
/// by a pass of their own.
template <class T>
bool pools_in_kernel(const convolution_problem<T>& problem) {
  const pooling_window& window = problem.window;
  const std::int64_t side = window.height;
  return problem.activates_maxima() && (side == 2 || side == 4) && window.width == side && window.row_stride == side &&
         window.column_stride == side && window.row_padding == 0 && window.column_padding == 0;
}

/// Whether it would take longer to activate all results than the matrix units save. `direct` activates maxima alone.
/// By the times of whole nets and of convolutions without activation on an H200, in f16, a tanh of each result takes as
/// long as 150 products of `direct`, and the units compute a product in half of its time.
template <class T>
bool has_long_activations(const convolution_problem<T>& problem) {
  constexpr std::int64_t least_products = 288;
  return problem.activates_maxima() && is_long(problem.activation) && problem.taps() < least_products;
}

template <class T>
std::string prepare_tensor(const Kokkos::Cuda& instance, const convolution_problem<T>& problem,
                           prepared_convolution& prepared) {
  if constexpr (std::is_same_v<T, double>) {
    return "it is for f16 and bf16, and for f32 in mode fast_tf32";
  } else {
    if (problem.mode != (sizeof(T) == 2 ? gemm_mode::strict : gemm_mode::fast_tf32)) {
      return "it is for f16 and bf16 in mode strict, and for f32 in mode fast_tf32";
    }
    const bool has_pass = problem.is_pooled() && !pools_in_kernel(problem);
    if (has_pass && problem.pooling == convolution_pooling::mean && sizeof(T) == 2) {
      return "the mean of results that were rounded to 16 bits would be rounded twice";
    }
    if (has_few_products(problem)) {
      return "each result is the sum of few products, and loads and stores take longer than the matrix units save";
    }
    if (has_pass && has_long_activations(problem)) {
      return "to activate all results, and not their maxima alone, takes longer than the matrix units save";
    }
    auto plain = has_pass ? without_pooling<T>(problem, nullptr) : problem;
    if (has_pass) plain.images = images_before_pooling(problem);
    thread_local recent_layouts<tensor_layout, T> layouts;
    prepared.tensor = layouts.find({plain, device_of(instance)},
                                   [&] { return best_tensor_layout(plain, team_resources_of(instance)); });
    if (has_pass && prepared.tensor.stacked_rows > 1) {
      return "with few output channels, the pass that pools takes longer than the matrix units save";
    }
    if (prepared.tensor.images > 0) return {};
    return "some rows of an image and the filters do not fit into a multiprocessor's memory";
  }
}

template <class T>
void launch_tensor(const Kokkos::Cuda& instance, const convolution_problem<T>& problem, const tensor_layout& layout) {
  static const std::string label = "prumo::convolve::tensor";
  const std::int64_t teams_of_part =
      std::min<std::int64_t>(layout.image_bands(problem.images), std::max(1, layout.most_teams / layout.parts));
  const std::int64_t teams = teams_of_part * layout.parts;
  const auto launch = [&]<int Window>() {
    prumo::detail::launch_teams(instance, label, tensor_kernel<T, Window>(problem, layout, teams));
  };
  if (!problem.is_pooled()) return launch.template operator()<1>();
  if (problem.window.height == 2) return launch.template operator()<2>();
  launch.template operator()<4>();
}

template <class T>
void run_tensor(context<Kokkos::Cuda>& ctx, const convolution_problem<T>& problem,
                const prepared_convolution& prepared) {
  if constexpr (!std::is_same_v<T, double>) {
    if (!problem.is_pooled() || pools_in_kernel(problem)) {
      return launch_tensor(ctx.instance(), problem, prepared.tensor);
    }
    const std::int64_t at_once = images_before_pooling(problem);
    const std::int64_t elements = at_once * problem.out_channels * problem.rows * problem.columns;
    auto* const results = static_cast<T*>(ctx.workspace(static_cast<std::size_t>(elements) * sizeof(T)));
    for (std::int64_t first = 0; first < problem.images; first += at_once) {
      const auto part = problem.of_images(first, std::min(at_once, problem.images - first));
      launch_tensor(ctx.instance(), without_pooling(part, results), prepared.tensor);
      enqueue_pooling<Kokkos::Cuda, T>(ctx.instance(), part, results);
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
