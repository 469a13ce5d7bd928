// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "partial_sums.hpp"
#include "place_groups.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/math.hpp>
#include <prumo/spaces.hpp>

#include <vector>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// One partial sum after the other: that of a group of places for one weight, or for the bias of one channel. Places
/// where the weight lies beside the image are skipped, so they are not counted.
template <class T>
class portable_backward_weights_kernel {
  using C = compute_t<T>;

 public:
  portable_backward_weights_kernel(const backward_weights_problem<T>& problem, const place_groups& groups,
                                   C* partial_sums)
      : problem_(problem), groups_(groups), partial_sums_(partial_sums) {}

  std::int64_t blocks() const { return groups_.count() * problem_.outputs(); }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t outputs = problem_.outputs();
    const std::int64_t group = index / outputs, output = index % outputs;
    const window_range images = groups_.images(problem_, group), rows = groups_.rows(problem_, group);
    C total(0);
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      const C of_image =
          output < problem_.weights() ? sum(output, image, rows) : bias_sum(output - problem_.weights(), image, rows);
      total = total + of_image;
    }
    partial_sums_[index] = total;
  }

 private:
  /// The sum of some rows of an image for a weight.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION C sum(std::int64_t weight, std::int64_t image, const window_range& of_group) const {
    const auto& [x, dy] = arrays();
    const std::int64_t q = weight % problem_.filter_columns;
    weight /= problem_.filter_columns;
    const std::int64_t p = weight % problem_.filter_rows;
    weight /= problem_.filter_rows;
    const T* const gradient = dy.plane(image, weight / problem_.in_channels);
    const T* const plane = x.plane(image, weight % problem_.in_channels) + (p - problem_.row_padding) * x.row_stride +
                           (q - problem_.column_padding) * x.column_stride;
    window_range rows = problem_.rows_of_tap(p);
    const window_range columns = problem_.columns_of_tap(q);
    if (rows.begin < of_group.begin) rows.begin = of_group.begin;
    if (rows.end > of_group.end) rows.end = of_group.end;
    C total(0);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = columns.begin; j < columns.end; ++j) {
        total = prumo::fma(
            static_cast<C>(gradient[i * dy.row_stride + j * dy.column_stride]),
            static_cast<C>(
                plane[i * problem_.row_stride * x.row_stride + j * problem_.column_stride * x.column_stride]),
            total);
      }
    }
    return total;
  }

  /// The same for the bias of a channel.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION C bias_sum(std::int64_t channel, std::int64_t image, const window_range& rows) const {
    const image_array<const T>& dy = arrays().dy;
    const T* const gradient = dy.plane(image, channel);
    C total(0);
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      for (std::int64_t j = 0; j < problem_.columns; ++j) {
        total = total + static_cast<C>(gradient[i * dy.row_stride + j * dy.column_stride]);
      }
    }
    return total;
  }

  struct inputs {
    const image_array<const T>& x;
    const image_array<const T>& dy;
  };
  KOKKOS_FORCEINLINE_FUNCTION inputs arrays() const { return {problem_.x, problem_.dy}; }

  backward_weights_problem<T> problem_;
  place_groups groups_;
  C* partial_sums_;
};

/// As many groups as give a device's threads something to do, and whose partial sums stay small.
place_groups groups_of(const convolution_geometry& geometry, std::int64_t outputs) {
  constexpr std::int64_t wanted_sums = std::int64_t{1} << 16, most_groups = 1024;
  return place_groups::of(geometry, std::clamp<std::int64_t>(wanted_sums / outputs, 1, most_groups));
}

template <class Exec, class T>
std::string prepare_portable(const Exec&, const backward_weights_problem<T>& problem,
                             prepared_backward_weights& prepared) {
  const place_groups groups = groups_of(problem, problem.outputs());
  prepared.longest_chain = groups.most_rows(problem) * problem.columns + groups.most_images(problem) + groups.count();
  return {};
}

template <class Exec, class T>
void run_portable(context<Exec>& ctx, const backward_weights_problem<T>& problem, const prepared_backward_weights&) {
  static const std::string label = "prumo::convolve_backward_weights::portable";
  using C = compute_t<T>;
  constexpr double of_a_product = 1;  // nanoseconds
  const place_groups groups = groups_of(problem, problem.outputs());
  auto* const partial_sums =
      static_cast<C*>(ctx.workspace(static_cast<std::size_t>(groups.count() * problem.outputs()) * sizeof(C)));
  const auto work = prumo::detail::host_work::repeated(
      problem.images * problem.rows * problem.columns * problem.outputs(), of_a_product);
  prumo::detail::launch_blocks(ctx.instance(), label,
                               portable_backward_weights_kernel<T>(problem, groups, partial_sums), work);
  enqueue_joining(ctx.instance(), problem, partial_sums, groups.count());
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
backward_weights_candidate<Exec, T> portable_backward_weights_candidate() {
  return {"portable", prepare_portable<Exec, T>, run_portable<Exec, T>};
}

template <class T>
void run_canonical_backward_weights(const backward_weights_problem<T>& problem) {
  const auto run = [](const auto& kernel) {
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
  };
  if (problem.outputs() == 0) return;
  const place_groups groups = groups_of(problem, problem.outputs());
  std::vector<T> partial_sums(static_cast<std::size_t>(groups.count() * problem.outputs()));
  run(portable_backward_weights_kernel<T>(problem, groups, partial_sums.data()));
  run(joining_kernel<T>(problem, partial_sums.data(), groups.count()));
}

template void run_canonical_backward_weights(const backward_weights_problem<counted<float>>&);
template void run_canonical_backward_weights(const backward_weights_problem<counted<double>>&);

std::uint64_t portable_backward_weights_joins(const convolution_geometry& geometry, std::int64_t outputs) {
  if (outputs == 0) return 0;
  const place_groups groups = groups_of(geometry, outputs);
  const std::int64_t into_groups = geometry.images * groups.bands;
  return static_cast<std::uint64_t>(outputs * (into_groups + std::max<std::int64_t>(0, groups.count() - 1)));
}

#define PRUMO_INSTANTIATE_PORTABLE_BACKWARD_WEIGHTS(Space, T) \
  template backward_weights_candidate<Space, T> portable_backward_weights_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_WEIGHTS, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_WEIGHTS, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_WEIGHTS, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_WEIGHTS, bf16)

}  // namespace prumo::backend
