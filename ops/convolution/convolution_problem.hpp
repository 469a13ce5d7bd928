// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The convolution as implementations see it. `prumo/convolution.hpp` is the operation.

#include "convolution_geometry.hpp"
#include "direct_device_layout.hpp"
#include "gemm_activation.hpp"
#include "implicit_gemm_layout.hpp"
#include "pooling_problem.hpp"
#include "tensor_layout.hpp"
#include <prumo/backend/candidate.hpp>
#include <prumo/convolution.hpp>
#include <prumo/types.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace prumo::backend {

using prumo::detail::image_array;

/// y = pool(act(w * x + bias)). Its rows and columns are those before it is pooled. Strides are in elements.
template <class T>
struct convolution_problem : convolution_geometry {
  image_array<const T> x;
  image_array<const T> w;   ///< the image is the output channel, the channel that of the input
  const T* bias = nullptr;  ///< null: none
  std::int64_t bias_stride = 1;
  image_array<T> y;

  gemm_mode mode = gemm_mode::strict;
  activation_function activation = activation_function::none;
  convolution_pooling pooling = convolution_pooling::none;
  pooling_window window;
  std::int64_t y_rows = 0;  ///< after pooling
  std::int64_t y_columns = 0;
  std::size_t working_set = 0;

  bool operator==(const convolution_problem&) const = default;

  constexpr bool is_empty() const { return images == 0 || out_channels == 0; }
  KOKKOS_FUNCTION constexpr bool is_pooled() const { return pooling != convolution_pooling::none; }
  /// Whether act may be taken of each window's maximum alone, which is one evaluation instead of one for each result.
  KOKKOS_FUNCTION constexpr bool activates_maxima() const {
    return pooling == convolution_pooling::maximum && is_rising(activation);
  }

  /// Whether the results of neighbouring images and channels follow one another without gaps, if their rows do.
  KOKKOS_FUNCTION constexpr bool has_results_without_gaps() const {
    const std::int64_t plane = y_rows * y_columns;
    return y.channel_stride == plane && y.image_stride == out_channels * plane;
  }

  /// Images [first, first + count) alone.
  convolution_problem of_images(std::int64_t first, std::int64_t count) const {
    convolution_problem part = *this;
    part.x.data += first * x.image_stride;
    part.y.data += first * y.image_stride;
    part.images = count;
    return part;
  }
};

/// What a candidate finds out when it is asked.
struct prepared_convolution {
  direct_device_layout layout;                    ///< of `direct` on a device
  direct_device_layout layout_without_constants;  ///< the same for contexts that do not hold the constant memory
  tensor_layout tensor;                           ///< of `tensor`
  implicit_gemm_layout implicit_gemm;             ///< of `implicit_gemm`
};

/// Why an implementation that computes in the compute type cannot be used, or an empty string.
template <class T>
std::string why_not_strict(const convolution_problem<T>& problem) {
  return problem.mode == gemm_mode::strict ? "" : "it computes in mode strict only";
}

template <class Exec, class T>
using convolution_candidate = candidate<Exec, convolution_problem<T>, prepared_convolution>;

/// The convolution of images by tiles of sums in vector registers, on hosts.
template <class Exec, class T>
convolution_candidate<Exec, T> direct_convolution_candidate();

/// The same by tiles of sums in the registers of threads, on devices.
template <class Exec, class T>
convolution_candidate<Exec, T> direct_device_candidate();

/// The time that `direct` takes on a device, in cycles of a multiprocessor, about; infinity if it declines.
template <class Exec, class T>
double direct_device_time(const Exec& instance, const convolution_problem<T>& problem);

/// The convolution of images of bytes, as prumo::convolve_bytes() tells it.
/// \param problem whose pointer to images is that to their bytes
/// \return false, with nothing enqueued, if no kernel of the device takes them
template <class Exec>
bool run_byte_convolution(context<Exec>& ctx, const convolution_problem<float>& problem, double scale);

/// The convolution as a matrix product whose right operand is made in a team's scratch memory alone; none where it is
/// not compiled.
template <class Exec, class T>
std::optional<convolution_candidate<Exec, T>> implicit_gemm_convolution_candidate();

/// The convolution in matrix units, of 16-bit images, or of f32 cut to TF32; none where prumo cannot address such
/// units.
template <class Exec, class T>
std::optional<convolution_candidate<Exec, T>> tensor_convolution_candidate();

/// A matrix product with the columns that each place of the filter sees.
template <class Exec, class T>
convolution_candidate<Exec, T> unrolled_convolution_candidate();

/// In Kokkos alone: every type, any strides and extents, one sum after the other.
template <class Exec, class T>
convolution_candidate<Exec, T> portable_convolution_candidate();

/// The most images that are computed at once if each takes `bytes_per_image` bytes of a workspace: those of 256 MiB,
/// and one at least.
constexpr std::int64_t images_at_once(std::int64_t images, std::int64_t bytes_per_image) {
  constexpr std::int64_t most_bytes = std::int64_t{256} << 20;
  return std::clamp<std::int64_t>(most_bytes / std::max<std::int64_t>(1, bytes_per_image), 1,
                                  std::max<std::int64_t>(1, images));
}

/// Computes the convolution at once by the portable kernel, for T counted<float> and counted<double>: this is what
/// counted flops are.
template <class T>
void run_canonical_convolution(const convolution_problem<T>& problem);

}  // namespace prumo::backend
