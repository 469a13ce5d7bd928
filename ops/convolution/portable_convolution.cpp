// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_activation.hpp"
#include "pooled_results.hpp"
#include "pooling_host_kernel.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <vector>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// One sum after the other, with bias and activation. Padding is skipped, so it is not counted. R is T, or the compute
/// type if the results are pooled afterwards.
template <class T, class R>
class portable_convolution_kernel {
  using C = compute_t<T>;

 public:
  portable_convolution_kernel(const convolution_problem<T>& problem, const image_array<R>& target)
      : problem_(problem), target_(target) {}

  std::int64_t blocks() const { return problem_.images * problem_.out_channels * problem_.rows * problem_.columns; }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t column = index % problem_.columns;
    index /= problem_.columns;
    const std::int64_t row = index % problem_.rows;
    index /= problem_.rows;
    const std::int64_t channel = index % problem_.out_channels;
    const std::int64_t image = index / problem_.out_channels;
    C value = sum(image, channel, row, column);
    if (problem_.bias != nullptr) value = value + static_cast<C>(problem_.bias[channel * problem_.bias_stride]);
    value = activated(problem_.activation, value);
    target_.plane(image, channel)[row * target_.row_stride + column * target_.column_stride] = static_cast<R>(value);
  }

 private:
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION C sum(std::int64_t image, std::int64_t channel, std::int64_t row,
                                    std::int64_t column) const {
    const auto& [x, w] = arrays();
    const window_range rows = problem_.filter_rows_at(row);
    const window_range columns = problem_.filter_columns_at(column);
    const std::int64_t corner = (row * problem_.row_stride - problem_.row_padding) * x.row_stride +
                                (column * problem_.column_stride - problem_.column_padding) * x.column_stride;
    C total(0);
    for (std::int64_t c = 0; c < problem_.in_channels; ++c) {
      const T* const plane = x.plane(image, c);
      const T* const filter = w.plane(channel, c);
      for (std::int64_t p = rows.begin; p < rows.end; ++p) {
        for (std::int64_t q = columns.begin; q < columns.end; ++q) {
          total = prumo::fma(static_cast<C>(filter[p * w.row_stride + q * w.column_stride]),
                             static_cast<C>(plane[corner + p * x.row_stride + q * x.column_stride]), total);
        }
      }
    }
    return total;
  }

  struct inputs {
    const image_array<const T>& x;
    const image_array<const T>& w;
  };
  KOKKOS_FORCEINLINE_FUNCTION inputs arrays() const { return {problem_.x, problem_.w}; }

  convolution_problem<T> problem_;
  image_array<R> target_;
};

template <class Exec, class T>
void run_portable(context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution&) {
  static const std::string label = "prumo::convolve::portable";
  if (!problem.is_pooled()) {
    prumo::detail::launch_blocks(ctx.instance(), label, portable_convolution_kernel<T, T>(problem, problem.y));
    return;
  }
  using C = compute_t<T>;
  const std::int64_t plane = problem.rows * problem.columns;
  const std::int64_t image_bytes = problem.out_channels * plane * static_cast<std::int64_t>(sizeof(C));
  const std::int64_t at_once = images_at_once(problem.images, image_bytes);
  auto* const results = static_cast<C*>(ctx.workspace(static_cast<std::size_t>(at_once * image_bytes)));
  const image_array<C> target{results, problem.out_channels * plane, plane, problem.columns, 1};
  for (std::int64_t first = 0; first < problem.images; first += at_once) {
    const auto part = problem.of_images(first, std::min(at_once, problem.images - first));
    prumo::detail::launch_blocks(ctx.instance(), label, portable_convolution_kernel<T, C>(part, target));
    enqueue_pooling<Exec, C>(ctx.instance(), part, results);
  }
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
convolution_candidate<Exec, T> portable_convolution_candidate() {
  return {
      "portable",
      [](const Exec&, const convolution_problem<T>& problem, prepared_convolution&) { return why_not_strict(problem); },
      [](context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution& prepared) {
        run_portable(ctx, problem, prepared);
      }};
}

template <class T>
void run_canonical_convolution(const convolution_problem<T>& problem) {
  const auto run = [](const auto& kernel) {
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
  };
  if (problem.is_empty()) return;
  if (!problem.is_pooled()) return run(portable_convolution_kernel<T, T>(problem, problem.y));
  using prumo::detail::pooling_kind;
  const std::int64_t plane = problem.rows * problem.columns;
  std::vector<T> results(static_cast<std::size_t>(problem.images * problem.out_channels * plane));
  run(portable_convolution_kernel<T, T>(problem,
                                        {results.data(), problem.out_channels * plane, plane, problem.columns, 1}));
  const auto pooled = pooling_of(problem, static_cast<const T*>(results.data()));
  if (problem.pooling == convolution_pooling::maximum) {
    run(prumo::detail::pooling_host_kernel<pooling_kind::maximum, T, T>(pooled));
  } else {
    run(prumo::detail::pooling_host_kernel<pooling_kind::mean, T, T>(pooled));
  }
}

template void run_canonical_convolution(const convolution_problem<counted<float>>&);
template void run_canonical_convolution(const convolution_problem<counted<double>>&);

#define PRUMO_INSTANTIATE_PORTABLE_CONVOLUTION(Space, T) \
  template convolution_candidate<Space, T> portable_convolution_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_CONVOLUTION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_CONVOLUTION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_CONVOLUTION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_CONVOLUTION, bf16)

}  // namespace prumo::backend
