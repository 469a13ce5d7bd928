// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The gradient of the images by the kernels of convolve(). With strides of 1, dx is the convolution of dy with the
// filters that are mirrored, and whose input and output channels change places. The padding is what completes the other
// one to a filter less one row and column.

#include "backward_problem.hpp"
#include <prumo/spaces.hpp>

namespace prumo::backend {
namespace {

template <class T>
convolution_problem<T> forward_problem(const backward_data_problem<T>& of) {
  convolution_problem<T> forward;
  forward.x = of.dy;
  // The mirrored filter is a view that begins at the last element. There is no memory if only names are asked for.
  const T* const last = of.w.data == nullptr ? nullptr
                                             : of.w.data + (of.filter_rows - 1) * of.w.row_stride +
                                                   (of.filter_columns - 1) * of.w.column_stride;
  forward.w = {last, of.w.channel_stride, of.w.image_stride, -of.w.row_stride, -of.w.column_stride};
  forward.y = of.dx;
  forward.images = of.images;
  forward.in_channels = of.out_channels;
  forward.height = of.rows;
  forward.width = of.columns;
  forward.out_channels = of.in_channels;
  forward.filter_rows = of.filter_rows;
  forward.filter_columns = of.filter_columns;
  forward.row_padding = of.filter_rows - 1 - of.row_padding;
  forward.column_padding = of.filter_columns - 1 - of.column_padding;
  forward.rows = forward.y_rows = of.height;
  forward.columns = forward.y_columns = of.width;
  forward.working_set = of.working_set;
  return forward;
}

/// The candidate of convolve() that computes the gradient.
struct direct_forward {
  template <class Exec, class T>
  static convolution_candidate<Exec, T> candidate() {
    if constexpr (is_host_space<Exec>) {
      return direct_convolution_candidate<Exec, T>();
    } else {
      return direct_device_candidate<Exec, T>();
    }
  }
};
struct tensor_forward {
  template <class Exec, class T>
  static convolution_candidate<Exec, T> candidate() {
    return *tensor_convolution_candidate<Exec, T>();
  }
};

template <class Forward, class Exec, class T>
const convolution_candidate<Exec, T>& forward_candidate() {
  static const auto candidate = Forward::template candidate<Exec, T>();
  return candidate;
}

template <class Forward, class Exec, class T>
std::string prepare_forward(const Exec& instance, const backward_data_problem<T>& problem,
                            prepared_convolution& prepared) {
  if (problem.row_stride != 1 || problem.column_stride != 1) return "it computes gradients for strides of 1 only";
  return forward_candidate<Forward, Exec, T>().prepare(instance, forward_problem(problem), prepared);
}

template <class Forward, class Exec, class T>
void run_forward(context<Exec>& ctx, const backward_data_problem<T>& problem, const prepared_convolution& prepared) {
  forward_candidate<Forward, Exec, T>().run(ctx, forward_problem(problem), prepared);
}

template <class Forward, class Exec, class T>
backward_data_candidate<Exec, T> backward_candidate() {
  const auto& forward = forward_candidate<Forward, Exec, T>();
  return {forward.name, prepare_forward<Forward, Exec, T>, run_forward<Forward, Exec, T>, forward.on_request,
          forward.uses_matrix_units};
}

}  // namespace

template <class Exec, class T>
backward_data_candidate<Exec, T> direct_backward_data_candidate() {
  return backward_candidate<direct_forward, Exec, T>();
}

template <class Exec, class T>
std::optional<backward_data_candidate<Exec, T>> tensor_backward_data_candidate() {
  if constexpr (is_host_space<Exec>) {
    return std::nullopt;
  } else {
    if (!tensor_convolution_candidate<Exec, T>()) return std::nullopt;
    return backward_candidate<tensor_forward, Exec, T>();
  }
}

#define PRUMO_INSTANTIATE_BACKWARD_DATA(Space, T)                                        \
  template backward_data_candidate<Space, T> direct_backward_data_candidate<Space, T>(); \
  template std::optional<backward_data_candidate<Space, T>> tensor_backward_data_candidate<Space, T>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BACKWARD_DATA, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BACKWARD_DATA, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BACKWARD_DATA, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_BACKWARD_DATA, bf16)

}  // namespace prumo::backend
