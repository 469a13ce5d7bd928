// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "banded_tensor_choice.hpp"
#include "banded_tensor_kernel.hpp"
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

/// Whether the kernel pools, as far as a thread has whole windows, and activates maxima alone. Other windows are pooled
/// by a pass of their own.
template <class T>
bool pools_in_kernel(const convolution_problem<T>& problem) {
  const pooling_window& window = problem.window;
  const std::int64_t side = window.height;
  return problem.activates_maxima() && (side == 2 || side == 4) && window.width == side && window.row_stride == side &&
         window.column_stride == side && window.row_padding == 0 && window.column_padding == 0;
}

/// Whether each result has so few products that loads and stores take the time, and not the products. `direct` has less
/// to do beside them. With one channel, filters of 3 x 3 and 5 x 5 and 16-bit images, `tensor` took 0.7 to 0.95 of the
/// time of `direct` on an H200, but 1.08 with four filters of 3 x 3, and 1.03 to 1.34 with a tanh of maxima; with f32,
/// twice the time. Strides were not measured.
template <class T>
bool has_few_products(const convolution_problem<T>& problem) {
  constexpr std::int64_t few_products = 27, few_of_place = 64;
  if (problem.row_stride != 1 || problem.column_stride != 1 || problem.taps() >= few_products) return false;
  return sizeof(T) == 4 || problem.taps() * problem.out_channels < few_of_place || is_long(problem.activation) ||
         (problem.is_pooled() && !pools_in_kernel(problem));
}

/// Whether it would take longer to activate all results than the matrix units save. `direct` activates maxima alone.
/// By the times of whole nets and of convolutions without activation on an H200, in f16, a tanh of each result takes as
/// long as 150 products of `direct`, and the units compute a product in half of its time.
template <class T>
bool has_long_activations(const convolution_problem<T>& problem) {
  constexpr std::int64_t least_products = 288;
  return problem.activates_maxima() && is_long(problem.activation) && problem.taps() < least_products;
}

/// Whether images are cut into so many bands of few rows that the rows which bands share take much of the time. On an
/// H200, 3 to 64 channels of 224 x 224, in 55 bands, took 1.3 times as long as banded_tensor_kernel.
inline bool has_many_bands(const tensor_layout& layout) {
  constexpr int most_bands = 8;
  return layout.bands > most_bands;
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
    if (has_few_products(problem)) {
      return "each result is the sum of few products, and loads and stores take longer than the matrix units save";
    }
    constexpr const char* few_channels =
        "with few output channels, the pass that pools takes longer than the matrix units save";
    const auto resources = [&] { return team_resources_of(instance); };
    const int device = device_of(instance);
    if (!problem.is_pooled() || pools_in_kernel(problem)) {
      thread_local recent_layouts<tensor_layout, T> layouts;
      prepared.tensor = layouts.find({problem, device}, [&] { return best_tensor_layout(problem, resources()); });
      if (prepared.tensor.images > 0 && !has_many_bands(prepared.tensor)) return {};
      prepared.tensor.images = 0;
    }
    if (problem.pooling == convolution_pooling::mean && sizeof(T) == 2) {
      return "the mean of results that were rounded to 16 bits would be rounded twice";
    }
    if (has_long_activations(problem)) {
      return "to activate all results, and not their maxima alone, takes longer than the matrix units save";
    }
    auto plain = problem.is_pooled() ? without_pooling<T>(problem, nullptr) : problem;
    if (problem.is_pooled()) plain.images = images_before_pooling(problem);
    if (problem.is_pooled() && !pools_in_kernel(problem)) {
      thread_local recent_layouts<tensor_layout, T> layouts;
      prepared.tensor = layouts.find({plain, device}, [&] { return best_tensor_layout(plain, resources()); });
      if (has_many_bands(prepared.tensor)) prepared.tensor.images = 0;
      if (prepared.tensor.images > 0 && prepared.tensor.stacked_rows > 1) return few_channels;
      if (prepared.tensor.images > 0) return {};
    }
    thread_local recent_layouts<banded_tensor_layout, T> banded_layouts;
    prepared.banded =
        banded_layouts.find({plain, device}, [&] { return best_banded_tensor_layout(plain, resources()); });
    if (problem.is_pooled() && prepared.banded.stacked_rows > 1) return few_channels;
    if (prepared.banded.images > 0) return {};
    return "some rows of an image and the filters do not fit into a multiprocessor's memory";
  }
}

constexpr const char* tensor_label = "prumo::convolve::tensor";

template <class Layout>
std::int64_t teams_of(const Layout& layout, std::int64_t images) {
  return layout.parts *
         std::min<std::int64_t>(layout.image_bands(images), std::max(1, layout.most_teams / layout.parts));
}

template <class T>
void launch_tensor(const Kokkos::Cuda& instance, const convolution_problem<T>& problem, const tensor_layout& layout) {
  static const std::string label = tensor_label;
  const std::int64_t teams = teams_of(layout, problem.images);
  const auto launch = [&]<int Window>() {
    prumo::detail::launch_teams(instance, label, tensor_kernel<T, Window>(problem, layout, teams));
  };
  if (!problem.is_pooled()) return launch.template operator()<1>();
  if (problem.window.height == 2) return launch.template operator()<2>();
  launch.template operator()<4>();
}

template <class T>
void launch_banded_tensor(const Kokkos::Cuda& instance, const convolution_problem<T>& problem,
                          const banded_tensor_layout& layout) {
  static const std::string label = tensor_label;
  const std::int64_t teams = teams_of(layout, problem.images);
  if (!layout.has_flat_results && problem.column_stride == 1) {
    prumo::detail::launch_teams(instance, label, banded_tensor_kernel<T, true>(problem, layout, teams));
  } else {
    prumo::detail::launch_teams(instance, label, banded_tensor_kernel<T, false>(problem, layout, teams));
  }
}

template <class T>
void run_tensor(context<Kokkos::Cuda>& ctx, const convolution_problem<T>& problem,
                const prepared_convolution& prepared) {
  if constexpr (!std::is_same_v<T, double>) {
    const auto launch = [&](const convolution_problem<T>& part) {
      if (prepared.tensor.images > 0) {
        launch_tensor(ctx.instance(), part, prepared.tensor);
      } else {
        launch_banded_tensor(ctx.instance(), part, prepared.banded);
      }
    };
    if (!problem.is_pooled() || (prepared.tensor.images > 0 && pools_in_kernel(problem))) return launch(problem);
    const std::int64_t at_once = images_before_pooling(problem);
    const std::int64_t elements = at_once * problem.out_channels * problem.rows * problem.columns;
    auto* const results = static_cast<T*>(ctx.workspace(static_cast<std::size_t>(elements) * sizeof(T)));
    for (std::int64_t first = 0; first < problem.images; first += at_once) {
      const auto part = problem.of_images(first, std::min(at_once, problem.images - first));
      launch(without_pooling(part, results));
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
