// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The gradients of a convolution as implementations see them. `prumo/convolution_backward.hpp` has the operations.

#include "convolution_problem.hpp"
#include "direct_weights_layout.hpp"
#include <prumo/backend/candidate.hpp>
#include <prumo/convolution_backward.hpp>
#include <prumo/detail/compiler.hpp>
#include <prumo/types.hpp>

#include <cstdint>
#include <optional>

namespace prumo::backend {

/// dx = the gradient of the images. Strides are in elements.
template <class T>
struct backward_data_problem : convolution_geometry {
  image_array<const T> dy;
  image_array<const T> w;  ///< the image is the output channel, the channel that of the input
  image_array<T> dx;
  std::size_t working_set = 0;

  constexpr bool is_empty() const { return images == 0 || in_channels == 0; }
};

/// dw = the gradient of the filters, and the bias' gradient if there is one.
template <class T>
struct backward_weights_problem : convolution_geometry {
  image_array<const T> x;
  image_array<const T> dy;
  image_array<T> dw;  ///< the image is the output channel, the channel that of the input
  T* bias = nullptr;  ///< null: none
  std::int64_t bias_stride = 1;
  bool has_bias = false;

  bool operator==(const backward_weights_problem&) const = default;

  KOKKOS_FUNCTION constexpr std::int64_t weights() const { return out_channels * taps(); }
  /// Of the weights and the bias. The bias follows the weights.
  KOKKOS_FUNCTION constexpr std::int64_t outputs() const { return weights() + (has_bias ? out_channels : 0); }

  /// Stores output number `output`.
  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void store(std::int64_t output, const compute_t<T>& value) const {
    if (output >= weights()) {
      bias[(output - weights()) * bias_stride] = static_cast<T>(value);
      return;
    }
    const std::int64_t q = output % filter_columns;
    output /= filter_columns;
    const std::int64_t p = output % filter_rows;
    output /= filter_rows;
    dw.plane(output / in_channels, output % in_channels)[p * dw.row_stride + q * dw.column_stride] =
        static_cast<T>(value);
  }
};

/// What a candidate for the gradient of the filters finds out when it is asked.
struct prepared_backward_weights {
  direct_weights_layout layout;  ///< of `direct` on a device
  /// The most roundings, one upon the other, that a sum has: for its error bound.
  std::int64_t longest_chain = 0;
};

template <class Exec, class T>
using backward_data_candidate = candidate<Exec, backward_data_problem<T>, prepared_convolution>;
template <class Exec, class T>
using backward_weights_candidate = candidate<Exec, backward_weights_problem<T>, prepared_backward_weights>;

/// The convolution of dy with mirrored filters, by the kernels of convolve().
template <class Exec, class T>
backward_data_candidate<Exec, T> direct_backward_data_candidate();
/// The same in matrix units; none where prumo cannot address such units.
template <class Exec, class T>
std::optional<backward_data_candidate<Exec, T>> tensor_backward_data_candidate();
/// In Kokkos alone: every type, any strides and extents, one sum after the other.
template <class Exec, class T>
backward_data_candidate<Exec, T> portable_backward_data_candidate();

/// By tiles of sums in vector registers, on hosts.
template <class Exec, class T>
backward_weights_candidate<Exec, T> direct_backward_weights_candidate();
/// By tiles of sums in the registers of threads, on devices.
template <class Exec, class T>
backward_weights_candidate<Exec, T> direct_device_weights_candidate();
/// In Kokkos alone, as above. Partial sums of groups of images are joined in order.
template <class Exec, class T>
backward_weights_candidate<Exec, T> portable_backward_weights_candidate();

/// Compute the gradients at once by the portable kernels, for T counted<float> and counted<double>: this is what
/// counted flops are.
template <class T>
void run_canonical_backward_data(const backward_data_problem<T>& problem);
template <class T>
void run_canonical_backward_weights(const backward_weights_problem<T>& problem);

/// The additions of the portable kernel that join sums of images, and of groups of images, to `outputs` results.
std::uint64_t portable_backward_weights_joins(const convolution_geometry& geometry, std::int64_t outputs);

}  // namespace prumo::backend

namespace prumo::detail {

/// The most roundings, one upon the other, that a sum of convolve_backward_weights() has for these arguments. The
/// arrays' memory is not used.
std::int64_t backward_weights_longest_chain(const instance_ref& space, const array_ref& x, const array_ref& dy,
                                            const array_ref& dw, const convolution_backward_options& options);

}  // namespace prumo::detail
