// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host kernel of softmax: a row an iteration, in chunks that stay in the nearest cache.

#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/detail/lanes.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/math.hpp>
#include <prumo/softmax.hpp>

#include <algorithm>
#include <limits>

namespace prumo::detail {
inline namespace PRUMO_INSTRUCTION_SET {

/// Columns that are taken at a time. A row of one chunk keeps its exponentials; a longer one computes them twice, which
/// costs less than writing and reading them.
inline constexpr std::int64_t softmax_chunk = 4096;

/// join() of a maximum.
struct maximum_of_values {
  static constexpr bool keeps_lanes_in_registers = false;
  template <class C>
  C operator()(C a, C b) const {
    return prumo::maximum(a, b);
  }
};

template <class T>
class softmax_host_kernel {
 public:
  softmax_host_kernel(const softmax_problem<T>& problem, bool streaming) : problem_(problem), streaming_(streaming) {}

  std::int64_t blocks() const { return problem_.columns == 0 ? 0 : problem_.rows; }

  void operator()(std::int64_t row) const {
    alignas(streaming_unit) C chunk[softmax_chunk];
    const T* const source = problem_.source + row * problem_.source_row_stride;
    T* const target = problem_.target + row * problem_.target_row_stride;

    const std::int64_t first_length = std::min(softmax_chunk, problem_.columns);
    read(source, 0, first_length, chunk);
    C shift = finite_shift(maximum_of(chunk, first_length));
    C total = exponentials(chunk, first_length, shift);
    if (first_length == problem_.columns) {
      write(chunk, first_length, C(1) / total, target);
      if (streaming_) streaming_fence();
      return;
    }

    for (std::int64_t begin = first_length; begin < problem_.columns; begin += softmax_chunk) {
      const std::int64_t length = std::min(softmax_chunk, problem_.columns - begin);
      read(source, begin, length, chunk);
      const C new_shift = finite_shift(prumo::maximum(maximum_of(chunk, length), total == C(0) ? lowest() : shift));
      // What was added up under the old maximum is scaled to the new one; nothing yet means all -infinity so far.
      const C factor = total == C(0) ? C(0) : prumo::exp(shift - new_shift);
      total = prumo::fma(total, factor, exponentials(chunk, length, new_shift));
      shift = new_shift;
    }
    const C scale = C(1) / total;
    for (std::int64_t begin = 0; begin < problem_.columns; begin += softmax_chunk) {
      const std::int64_t length = std::min(softmax_chunk, problem_.columns - begin);
      read(source, begin, length, chunk);
      for (std::int64_t i = 0; i < length; ++i) chunk[i] = prumo::exp(chunk[i] - shift);
      write(chunk, length, scale, target + begin * problem_.target_column_stride);
    }
    if (streaming_) streaming_fence();
  }

 private:
  using C = compute_t<T>;
  using plain = plain_scalar_t<C>;

  static C lowest() { return C(-std::numeric_limits<plain>::infinity()); }

  /// The maximum to subtract; 0 for a row of -infinity, from which nothing else can be subtracted.
  static C finite_shift(C maximum) { return maximum == lowest() ? C(0) : maximum; }

  void read(const T* row, std::int64_t begin, std::int64_t length, C* chunk) const {
    if (problem_.source_column_stride == 1) {
      for (std::int64_t i = 0; i < length; ++i) chunk[i] = load(row[begin + i]);
    } else {
      const std::int64_t stride = problem_.source_column_stride;
      for (std::int64_t i = 0; i < length; ++i) chunk[i] = load(row[(begin + i) * stride]);
    }
  }

  static C maximum_of(const C* chunk, std::int64_t length) {
    return reduce_lanes(length, lowest(), maximum_of_values{}, [=](std::int64_t i) { return chunk[i]; });
  }

  /// Replaces the chunk by its exponentials and returns their sum.
  static C exponentials(C* chunk, std::int64_t length, C shift) {
    for (std::int64_t i = 0; i < length; ++i) chunk[i] = prumo::exp(chunk[i] - shift);
    return reduce_lanes(length, C(0), add_values{}, [=](std::int64_t i) { return chunk[i]; });
  }

  void write(const C* chunk, std::int64_t length, C scale, T* target) const {
    if (problem_.target_column_stride != 1) {
      const std::int64_t stride = problem_.target_column_stride;
      for (std::int64_t i = 0; i < length; ++i) target[i * stride] = static_cast<T>(chunk[i] * scale);
      return;
    }
    std::int64_t at = 0;
    if (streaming_) {
      constexpr std::int64_t unit = streaming_unit / sizeof(T);
      const auto beyond_line =
          static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % streaming_unit / sizeof(T));
      for (const std::int64_t lead = std::min(length, beyond_line == 0 ? 0 : unit - beyond_line); at < lead; ++at) {
        target[at] = static_cast<T>(chunk[at] * scale);
      }
      for (; at + unit <= length; at += unit) {
        alignas(streaming_unit) T line[unit];
        for (std::int64_t i = 0; i < unit; ++i) line[i] = static_cast<T>(chunk[at + i] * scale);
        stream_bytes(target + at, line, streaming_unit);
      }
    }
    for (; at < length; ++at) target[at] = static_cast<T>(chunk[at] * scale);
  }

  softmax_problem<T> problem_;
  bool streaming_;
};

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::detail
