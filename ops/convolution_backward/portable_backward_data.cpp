// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backward_problem.hpp"
#include <prumo/counted.hpp>
#include <prumo/detail/host/register_tile.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/math.hpp>
#include <prumo/spaces.hpp>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {
namespace {

/// One element of dx after the other. What lies beside dy is skipped, so it is not counted.
template <class T>
class portable_backward_data_kernel {
  using C = compute_t<T>;

 public:
  explicit portable_backward_data_kernel(const backward_data_problem<T>& problem) : problem_(problem) {}

  std::int64_t blocks() const { return problem_.images * problem_.in_channels * problem_.height * problem_.width; }

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t column = index % problem_.width;
    index /= problem_.width;
    const std::int64_t row = index % problem_.height;
    index /= problem_.height;
    const std::int64_t channel = index % problem_.in_channels;
    const std::int64_t image = index / problem_.in_channels;
    const auto& dx = problem_.dx;
    dx.plane(image, channel)[row * dx.row_stride + column * dx.column_stride] =
        static_cast<T>(sum(image, channel, row, column));
  }

 private:
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FORCEINLINE_FUNCTION C sum(std::int64_t image, std::int64_t channel, std::int64_t row,
                                    std::int64_t column) const {
    const auto& dy = problem_.dy;
    const auto& w = problem_.w;
    const window_range rows = problem_.rows_of_element(row), columns = problem_.columns_of_element(column);
    C total(0);
    for (std::int64_t m = 0; m < problem_.out_channels; ++m) {
      const T* const plane = dy.plane(image, m);
      const T* const filter = w.plane(m, channel);
      for (std::int64_t i = rows.begin; i < rows.end; ++i) {
        const std::int64_t p = row + problem_.row_padding - i * problem_.row_stride;
        for (std::int64_t j = columns.begin; j < columns.end; ++j) {
          const std::int64_t q = column + problem_.column_padding - j * problem_.column_stride;
          total = prumo::fma(static_cast<C>(filter[p * w.row_stride + q * w.column_stride]),
                             static_cast<C>(plane[i * dy.row_stride + j * dy.column_stride]), total);
        }
      }
    }
    return total;
  }

  backward_data_problem<T> problem_;
};

template <class Exec, class T>
void run_portable(context<Exec>& ctx, const backward_data_problem<T>& problem, const prepared_convolution&) {
  static const std::string label = "prumo::convolve_backward_data::portable";
  constexpr double of_a_product = 1;  // nanoseconds
  const auto work = prumo::detail::host_work::repeated(
      problem.images * problem.rows * problem.columns * problem.out_channels * problem.taps(), of_a_product);
  prumo::detail::launch_blocks(ctx.instance(), label, portable_backward_data_kernel<T>(problem), work);
}

}  // namespace
}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class T>
backward_data_candidate<Exec, T> portable_backward_data_candidate() {
  return {"portable", [](const Exec&, const backward_data_problem<T>&, prepared_convolution&) { return std::string(); },
          [](context<Exec>& ctx, const backward_data_problem<T>& problem, const prepared_convolution& prepared) {
            run_portable(ctx, problem, prepared);
          }};
}

template <class T>
void run_canonical_backward_data(const backward_data_problem<T>& problem) {
  const portable_backward_data_kernel<T> kernel(problem);
  for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
}

template void run_canonical_backward_data(const backward_data_problem<counted<float>>&);
template void run_canonical_backward_data(const backward_data_problem<counted<double>>&);

#define PRUMO_INSTANTIATE_PORTABLE_BACKWARD_DATA(Space, T) \
  template backward_data_candidate<Space, T> portable_backward_data_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_DATA, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_DATA, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_DATA, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_PORTABLE_BACKWARD_DATA, bf16)

}  // namespace prumo::backend
