// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The convolution as matrix products: Y_n = W X_n, with a column of X_n for each place of the filter (Chellapilla, Puri
// and Simard, "High performance convolutional neural networks for document processing", 2006).

#include "pooled_results.hpp"
#include <prumo/detail/launch.hpp>
#include <prumo/detail/workspace.hpp>
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// columns[n][tap][place] = the element of image n that the tap of the filter meets at the place, or zero beside the
/// image. A block writes one row of places, for one tap.
template <class T>
class unrolling_kernel {
 public:
  unrolling_kernel(const convolution_problem<T>& problem, T* columns) : problem_(problem), columns_(columns) {}

  std::int64_t blocks() const { return problem_.images * problem_.taps() * problem_.rows; }

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::int64_t row = block % problem_.rows;
    const std::int64_t tap = block / problem_.rows;
    const std::int64_t q = tap % problem_.filter_columns;
    const std::int64_t p = tap / problem_.filter_columns % problem_.filter_rows;
    const std::int64_t plane = tap / (problem_.filter_columns * problem_.filter_rows);
    T* const to = columns_ + block * problem_.columns;
    const std::int64_t source_row = row * problem_.row_stride - problem_.row_padding + p;
    const bool is_inside = source_row >= 0 && source_row < problem_.height;
    const T* const from = problem_.x.plane(plane / problem_.in_channels, plane % problem_.in_channels) +
                          (is_inside ? source_row * problem_.x.row_stride : 0);
    for (std::int64_t j = 0; j < problem_.columns; ++j) {
      const std::int64_t column = j * problem_.column_stride - problem_.column_padding + q;
      const bool is_there = is_inside && column >= 0 && column < problem_.width;
      to[j] = is_there ? from[column * problem_.x.column_stride] : T(0);
    }
  }

 private:
  convolution_problem<T> problem_;
  T* columns_;
};

/// The same with a thread for each element, so that neighbouring threads write neighbouring elements.
template <class T>
class unrolling_device_kernel {
 public:
  unrolling_device_kernel(const convolution_problem<T>& problem, T* columns) : problem_(problem), columns_(columns) {}

  std::int64_t blocks() const { return problem_.images * problem_.taps() * problem_.rows * problem_.columns; }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    // A place is divided in 32 bits, which is quicker: an image has fewer places.
    const auto places = problem_.rows * problem_.columns;
    const std::int64_t tap = index / places;
    const auto place = static_cast<std::uint32_t>(index - tap * places);
    const auto width = static_cast<std::uint32_t>(problem_.columns);
    const auto row = static_cast<std::int64_t>(place / width);
    const auto column = static_cast<std::int64_t>(place % width);
    const std::int64_t q = tap % problem_.filter_columns;
    const std::int64_t p = tap / problem_.filter_columns % problem_.filter_rows;
    const std::int64_t plane = tap / (problem_.filter_columns * problem_.filter_rows);
    const std::int64_t from_row = row * problem_.row_stride - problem_.row_padding + p;
    const std::int64_t from_column = column * problem_.column_stride - problem_.column_padding + q;
    const bool is_there =
        from_row >= 0 && from_row < problem_.height && from_column >= 0 && from_column < problem_.width;
    columns_[index] =
        is_there
            ? problem_.x.plane(
                  plane / problem_.in_channels,
                  plane %
                      problem_.in_channels)[from_row * problem_.x.row_stride + from_column * problem_.x.column_stride]
            : T(0);
  }

 private:
  convolution_problem<T> problem_;
  T* columns_;
};

/// The memory for columns. The context's own workspace belongs to the product.
template <class Exec>
struct columns_workspace {
  prumo::detail::growing_workspace<Exec> memory;
};

/// Pooling reads results of this type: those of 16 bits are rounded before, which changes no maximum.
template <class T>
std::string why_not_unrolled(const convolution_problem<T>& problem) {
  if (std::string why_not = why_not_strict(problem); !why_not.empty()) return why_not;
  if (problem.w.column_stride != 1 || problem.w.row_stride != problem.filter_columns ||
      problem.w.channel_stride != problem.filter_rows * problem.filter_columns) {
    return "each filter must lie in memory without gaps";
  }
  if (problem.pooling == convolution_pooling::mean && sizeof(T) == 2) {
    return "the product rounds its results to 16 bits, and their mean would be rounded twice";
  }
  if (!problem.is_pooled() && problem.y.row_stride != problem.columns * problem.y.column_stride) {
    return "there must be no gaps between the rows of y";
  }
  return {};
}

template <class T>
array_ref matrices(const T* data, dtype type, memory_kind memory, std::initializer_list<std::int64_t> extents,
                   std::initializer_list<std::int64_t> strides) {
  return {const_cast<T*>(data), type, extents, strides, memory};
}

template <class Exec, class T>
void run_unrolled(context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution&) {
  static const std::string label = "prumo::convolve::unroll";
  constexpr dtype type = dtype_of<T>();
  constexpr memory_kind memory = prumo::detail::memory_kind_of<typename Exec::memory_space>();
  const std::int64_t places = problem.rows * problem.columns;
  const std::int64_t taps = problem.taps();
  const std::int64_t result_elements = problem.is_pooled() ? problem.out_channels * places : 0;
  const std::int64_t image_elements = taps * places + result_elements;
  const std::int64_t at_once = images_at_once(problem.images, image_elements * static_cast<std::int64_t>(sizeof(T)));
  auto& own = ctx.template attachment<columns_workspace<Exec>>([] { return columns_workspace<Exec>{}; });
  auto* const columns = static_cast<T*>(
      own.memory.at_least(ctx.instance(), static_cast<std::size_t>(at_once * image_elements) * sizeof(T)));
  T* const results = columns + at_once * taps * places;
  gemm_options options;
  options.activation = problem.activation;
  if (problem.bias != nullptr) {
    options.row_bias = matrices(problem.bias, type, memory, {problem.out_channels}, {problem.bias_stride});
  }
  for (std::int64_t first = 0; first < problem.images; first += at_once) {
    const auto part = problem.of_images(first, std::min(at_once, problem.images - first));
    if constexpr (is_host_space<Exec>) {
      prumo::detail::launch_blocks(ctx.instance(), label, unrolling_kernel<T>(part, columns));
    } else {
      prumo::detail::launch_blocks(ctx.instance(), label, unrolling_device_kernel<T>(part, columns));
    }
    const array_ref w =
        matrices(part.w.data, type, memory, {part.images, part.out_channels, taps}, {0, part.w.image_stride, 1});
    const array_ref x = matrices(columns, type, memory, {part.images, taps, places}, {taps * places, places, 1});
    const array_ref y = part.is_pooled() ? matrices(results, type, memory, {part.images, part.out_channels, places},
                                                    {part.out_channels * places, places, 1})
                                         : matrices(part.y.data, type, memory, {part.images, part.out_channels, places},
                                                    {part.y.image_stride, part.y.channel_stride, part.y.column_stride});
    gemm(ctx, transposition::no, transposition::no, 1, w, x, 0, y, options);
    if (part.is_pooled()) enqueue_pooling<Exec, T>(ctx.instance(), part, results);
  }
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
convolution_candidate<Exec, T> unrolled_convolution_candidate() {
  return {"unrolled_gemm",
          [](const Exec&, const convolution_problem<T>& problem, prepared_convolution&) {
            return why_not_unrolled(problem);
          },
          [](context<Exec>& ctx, const convolution_problem<T>& problem, const prepared_convolution& prepared) {
            run_unrolled(ctx, problem, prepared);
          }};
}

#define PRUMO_INSTANTIATE_UNROLLED_CONVOLUTION(Space, T) \
  template convolution_candidate<Space, T> unrolled_convolution_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNROLLED_CONVOLUTION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNROLLED_CONVOLUTION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNROLLED_CONVOLUTION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_UNROLLED_CONVOLUTION, bf16)

}  // namespace prumo::backend
