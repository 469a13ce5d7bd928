// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_completion.hpp"

#include "gemm_activation.hpp"
#include "row_epilogue_host.hpp"
#include <prumo/detail/compiler.hpp>
#include <prumo/detail/half_conversions.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/spaces.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// A completion on the host. An iteration handles a stretch of a row of C, or several short rows.
template <class R>
class gemm_completion_host_kernel {
  using C = compute_t<R>;
  static constexpr std::int64_t stretch = 4096;

 public:
  explicit gemm_completion_host_kernel(const gemm_completion<R>& what)
      : what_(what),
        epilogue_(what),
        stretches_((what.n + stretch - 1) / stretch),
        rows_(std::max<std::int64_t>(1, stretch / what.n)),
        row_blocks_((what.m + rows_ - 1) / rows_) {}

  std::int64_t blocks() const { return row_blocks_ * what_.batch * stretches_; }

  void operator()(std::int64_t item) const {
    const std::int64_t line = item / stretches_, batch = line / row_blocks_;
    const std::int64_t begin = item % stretches_ * stretch, end = std::min(what_.n, begin + stretch);
    const std::int64_t first_row = line % row_blocks_ * rows_, rows = std::min(rows_, what_.m - first_row);
    R* const c = what_.c.data + batch * what_.c.batch_stride + first_row * what_.c.row_stride;
    const std::int64_t count = end - begin;
    if (what_.product == nullptr && what_.beta == 1 && what_.c.column_stride == 1) {
      if constexpr (std::is_same_v<R, C>) {
        return epilogue_.finish({c + begin, what_.c.row_stride, rows, count, first_row, begin});
      } else if (!what_.has_bias && what_.activation == activation_function::relu) {
        return for_each_run(rows, count, what_.c.row_stride, [&](std::int64_t i, std::int64_t numbers) {
          make_relu(c + begin + i * what_.c.row_stride, numbers);
        });
      }
    }
    C values[stretch];
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t entry = (batch * what_.m + first_row + i) * what_.n + begin;
      load(entry, c + i * what_.c.row_stride + begin * what_.c.column_stride, values + i * count, count);
    }
    epilogue_.finish({values, count, rows, count, first_row, begin});
    store(values, rows, count, c + begin * what_.c.column_stride);
  }

 private:
  /// P + beta C, with only the operations that alpha, beta and P need.
  void load(std::int64_t entry, const R* c, C* values, std::int64_t count) const {
    const C beta = C(what_.beta);
    const std::int64_t step = what_.c.column_stride;
    const C* const product = what_.product;
    if (product == nullptr && what_.beta == 0) {
      std::fill_n(values, count, C(0));
    } else if (product == nullptr && what_.beta == 1) {
      if constexpr (sizeof(R) < sizeof(C)) {
        if (step == 1) return detail::widen(c, values, count);
      }
      for (std::int64_t j = 0; j < count; ++j) values[j] = static_cast<C>(c[j * step]);
    } else if (product == nullptr) {
      for (std::int64_t j = 0; j < count; ++j) values[j] = beta * static_cast<C>(c[j * step]);
    } else if (what_.beta == 0) {
      std::copy_n(product + entry, count, values);
    } else {
      for (std::int64_t j = 0; j < count; ++j) {
        values[j] = prumo::fma(beta, static_cast<C>(c[j * step]), product[entry + j]);
      }
    }
  }

  /// relu of 16-bit numbers, as words: those from -0 to negative infinity become 0, and NaNs stay.
  static void make_relu(R* values, std::int64_t count) {
    constexpr std::uint16_t negative_zero = 0x8000;
    const auto infinity = detail::bit_cast<std::uint16_t>(static_cast<R>(std::numeric_limits<float>::infinity()));
    PRUMO_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < count; ++i) {
      const auto word = detail::bit_cast<std::uint16_t>(values[i]);
      const auto behind = static_cast<std::uint16_t>(word - negative_zero);
      values[i] = detail::bit_cast<R>(behind <= infinity ? std::uint16_t{0} : word);
    }
  }

  /// Writes rows of C.
  void store(const C* values, std::int64_t rows, std::int64_t count, R* c) const {
    const std::int64_t step = what_.c.column_stride;
    if (step != 1) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < count; ++j)
          c[i * what_.c.row_stride + j * step] = static_cast<R>(values[i * count + j]);
      }
      return;
    }
    for_each_run(rows, count, what_.c.row_stride, [&](std::int64_t i, std::int64_t numbers) {
      if constexpr (sizeof(R) < sizeof(C)) {
        detail::narrow(values + i * count, c + i * what_.c.row_stride, numbers);
      } else {
        std::copy_n(values + i * count, numbers, c + i * what_.c.row_stride);
      }
    });
  }

  gemm_completion<R> what_;
  row_epilogue_host<R> epilogue_;
  std::int64_t stretches_;
  std::int64_t rows_;  ///< of an iteration
  std::int64_t row_blocks_;
};

/// A completion on a device. An iteration handles four neighbouring entries of a row of C, so that they share the
/// divisions that find them.
template <class R>
class gemm_completion_device_kernel {
  using C = compute_t<R>;
  static constexpr int at_once = 4;

 public:
  explicit gemm_completion_device_kernel(const gemm_completion<R>& what)
      : what_(what), groups_((what.n + at_once - 1) / at_once) {}

  std::int64_t blocks() const { return what_.m * what_.batch * groups_; }

  KOKKOS_FUNCTION void operator()(std::int64_t item) const {
    const std::int64_t line = item / groups_;
    const std::int64_t first = (item - line * groups_) * at_once;
    const std::int64_t batch = line / what_.m;
    const std::int64_t row = line - batch * what_.m;
    R* const c = what_.c.data + batch * what_.c.batch_stride + row * what_.c.row_stride + first * what_.c.column_stride;
    const R* const bias =
        what_.has_bias ? what_.bias.data + row * what_.bias.row_stride + first * what_.bias.column_stride : nullptr;
    C values[at_once];
    PRUMO_UNROLL
    for (int j = 0; j < at_once; ++j) {
      if (first + j < what_.n) values[j] = load(line * what_.n + first + j, c[j * what_.c.column_stride]);
    }
    PRUMO_UNROLL
    for (int j = 0; j < at_once; ++j) {
      if (first + j >= what_.n) continue;
      if (bias != nullptr) values[j] += static_cast<C>(bias[j * what_.bias.column_stride]);
      c[j * what_.c.column_stride] = static_cast<R>(activated(what_.activation, values[j]));
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION C load(std::int64_t entry, const R& c) const {
    const C product = what_.product == nullptr ? C(0) : what_.product[entry];
    if (what_.beta == 0) return product;
    if (what_.product == nullptr) return what_.beta == 1 ? static_cast<C>(c) : C(what_.beta) * static_cast<C>(c);
    return prumo::fma(C(what_.beta), static_cast<C>(c), product);
  }

  gemm_completion<R> what_;
  std::int64_t groups_;
};

}  // namespace PRUMO_INSTRUCTION_SET

template <class Exec, class R>
void enqueue_gemm_completion(context<Exec>& ctx, const gemm_completion<R>& completion) {
  using kernel_type =
      std::conditional_t<is_host_space<Exec>, gemm_completion_host_kernel<R>, gemm_completion_device_kernel<R>>;
  if (completion.is_nothing() || completion.n == 0) return;
  // A product lies row by row, and so does the C that a library wrote.
  const bool turns = completion.product == nullptr && completion.c.column_stride != 1 && completion.c.row_stride == 1;
  static const std::string label = "prumo::gemm::completion";
  const double of_an_entry = completion.activation == activation_function::none ? 0.1 : 0.6;
  const std::int64_t entries = completion.m * completion.n * completion.batch;
  detail::launch_blocks(ctx.instance(), label, kernel_type(turns ? completion.transposed() : completion),
                        detail::host_work::streaming<R>(entries) + detail::host_work::repeated(entries, of_an_entry));
}

template <class R>
void run_canonical_completion(const gemm_completion<R>& completion) {
  const gemm_completion_host_kernel<R> kernel(completion);
  for (std::int64_t item = 0; !completion.is_nothing() && item < kernel.blocks(); ++item) kernel(item);
}

template void run_canonical_completion(const gemm_completion<counted<float>>&);
template void run_canonical_completion(const gemm_completion<counted<double>>&);

#define PRUMO_INSTANTIATE_GEMM_COMPLETION(Space, R) \
  template void enqueue_gemm_completion<Space, R>(context<Space>&, const gemm_completion<R>&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM_COMPLETION, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM_COMPLETION, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM_COMPLETION, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM_COMPLETION, bf16)

}  // namespace prumo::backend
