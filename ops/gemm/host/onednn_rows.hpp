// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows of A for oneDNN's kernels for AMX (seen in 3.12.1). These load 32 numbers of 16 bits of a row at a time, or the
/// even number that a shorter row rounds up to. What they load behind the end of a row, they multiply by zero. If it is
/// infinite or a NaN, a whole row of C becomes NaN. Where that may be, rows are copied, with zeros behind each.
///
/// What is loaded belongs to the next row. If one of its numbers is special, all of its own row of C is special, too:
/// an infinity times a number is infinite or a NaN. So of two neighbouring rows of C, one tells whether the numbers of
/// both can be trusted. Where C cannot tell, because it is added to, A is looked at before.

#include "blas_form.hpp"
#include <prumo/detail/host/simd.hpp>
#include <prumo/detail/host/vector_shuffle.hpp>
#include <prumo/detail/instruction_set.hpp>
#include <prumo/detail/launch.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace prumo::backend {
inline namespace PRUMO_INSTRUCTION_SET {

/// The numbers that a load takes of a row.
inline constexpr std::int64_t amx_numbers = 32;

/// The length of a row with what is loaded behind its end.
constexpr std::int64_t loaded_length(std::int64_t length) {
  const std::int64_t unit = length < amx_numbers ? 2 : amx_numbers;
  return (length + unit - 1) / unit * unit;
}

/// Rows that lie in memory, of several matrices.
template <class T>
struct matrix_rows {
  const T* data = nullptr;
  std::int64_t matrices = 1;
  std::int64_t rows = 1;
  std::int64_t length = 1;
  std::int64_t stride = 1;
  std::int64_t matrix_stride = 0;

  matrix_rows(const T* first, std::int64_t matrix_count, std::int64_t row_count, std::int64_t columns,
              std::int64_t row_stride, std::int64_t step)
      : data(first),
        matrices(matrix_count),
        rows(row_count),
        length(columns),
        stride(row_stride),
        matrix_stride(step) {}

  /// Rows of A, which is not transposed.
  explicit matrix_rows(const blas_form<T>& form)
      : data(form.problem.a.data),
        matrices(form.problem.a.batch_stride == 0 ? 1 : form.problem.batch),
        rows(form.problem.m),
        length(form.problem.k),
        stride(form.a.leading_dimension),
        matrix_stride(form.problem.a.batch_stride) {}

  std::int64_t count() const { return matrices * rows; }

  /// Whether a row follows each row but the last one without a gap.
  bool have_no_gaps() const {
    return (rows == 1 || stride == length) && (matrices == 1 || matrix_stride == rows * length);
  }

  /// Some of the rows.
  matrix_rows part(std::int64_t matrix, std::int64_t some_matrices, std::int64_t row, std::int64_t some_rows) const {
    matrix_rows some = *this;
    some.data += matrix * matrix_stride + row * stride;
    some.matrices = std::min(matrices, some_matrices);
    some.rows = some_rows;
    return some;
  }
};

/// The bits of an exponent: infinities and NaNs have all of them.
template <class T>
inline constexpr unsigned exponent_bits = std::is_same_v<T, f16> ? 0x7c00 : 0x7f80;

/// Looks for infinities and NaNs in rows of A without gaps, where they are loaded behind the end of the row before: in
/// the last load of each row but the last one, or everywhere in short rows.
template <class T>
class special_numbers_kernel {
 public:
  special_numbers_kernel(const matrix_rows<T>& rows, std::atomic<bool>& found)
      : data_(rows.data), numbers_(rows.count() * rows.length), found_(&found) {
    if (rows.length < amx_numbers) {
      loads_ = (numbers_ + amx_numbers - 1) / amx_numbers;
      return;
    }
    const std::int64_t first = loaded_length(rows.length) - amx_numbers;
    data_ += first;
    numbers_ -= first;
    loads_ = rows.count() - 1;
    stride_ = rows.length;
  }

  std::int64_t blocks() const { return (loads_ + loads_of_block - 1) / loads_of_block; }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(loads_, (block + 1) * loads_of_block);
    words seen{};
    for (std::int64_t load = block * loads_of_block; load < end; ++load) {
      const std::int64_t first = load * stride_;
      if (first + amx_numbers > numbers_) {
        T held[amx_numbers] = {};
        std::copy_n(data_ + first, numbers_ - first, held);
        add_specials_of(held, seen);
      } else {
        add_specials_of(data_ + first, seen);
      }
    }
    std::uint64_t of_all = 0;
    for (std::size_t i = 0; i < sizeof(words) / sizeof(std::uint64_t); ++i) of_all |= seen[i];
    if ((of_all & repeated(0x8000)) != 0) found_->store(true, std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t loads_of_block = 64;
  static constexpr std::uint64_t exponent = exponent_bits<T>;

  /// Four times the same number of 16 bits.
  static constexpr std::uint64_t repeated(std::uint64_t bits) { return bits * 0x0001000100010001u; }

  /// The words of a vector register, each of which holds four numbers.
  using words = prumo::detail::vector_of<std::uint64_t, simd_bytes>;

  /// Adds numbers in which the highest bit of each that is special is set. Adding one to a full exponent carries into
  /// the bit of the sign.
  [[gnu::always_inline]] static void add_specials_of(const T* numbers, words& seen) {
    constexpr std::int64_t of_words = sizeof(words) / sizeof(T);
    static_assert(amx_numbers % of_words == 0);
    for (std::int64_t i = 0; i < amx_numbers; i += of_words) {
      words some;
      std::memcpy(&some, numbers + i, sizeof(some));
      seen |= (some & repeated(exponent)) + repeated(exponent & (~exponent + 1));
    }
  }

  const T* data_;
  std::int64_t numbers_;
  std::int64_t loads_ = 0;
  std::int64_t stride_ = amx_numbers;
  std::atomic<bool>* found_;
};

/// Copies rows, without gaps but with zeros for all that is loaded behind the end of each.
template <class T>
class zero_ended_rows_kernel {
 public:
  zero_ended_rows_kernel(const matrix_rows<T>& from, T* to)
      : from_(from),
        to_(to),
        stride_(loaded_length(from.length)),
        rows_of_block_(std::max<std::int64_t>(1, block_elements / from.length)) {}

  std::int64_t blocks() const { return (from_.count() + rows_of_block_ - 1) / rows_of_block_; }

  void operator()(std::int64_t block) const {
    const std::int64_t end = std::min(from_.count(), (block + 1) * rows_of_block_);
    for (std::int64_t row = block * rows_of_block_; row < end; ++row) {
      const T* const from = from_.data + row / from_.rows * from_.matrix_stride + row % from_.rows * from_.stride;
      T* const to = to_ + row * stride_;
      copy(from, to, from_.length);
      std::fill(to + from_.length, to + stride_, T());
    }
  }

 private:
  static constexpr std::int64_t block_elements = 8192;
  static constexpr std::int64_t group = 16;

  /// Copies groups of numbers, the last of which may overlap the one before. The calls that copy runs of any length
  /// take longer than most rows.
  static void copy(const T* from, T* to, std::int64_t count) {
    if (count < group) {
      std::int64_t done = 0;
      const auto some = [&]<std::int64_t Some>(std::integral_constant<std::int64_t, Some>) {
        if ((count & Some) == 0) return;
        std::memcpy(to + done, from + done, Some * sizeof(T));
        done += Some;
      };
      some(std::integral_constant<std::int64_t, 8>{});
      some(std::integral_constant<std::int64_t, 4>{});
      some(std::integral_constant<std::int64_t, 2>{});
      some(std::integral_constant<std::int64_t, 1>{});
      return;
    }
    for (std::int64_t done = 0; done + group <= count; done += group) {
      std::memcpy(to + done, from + done, group * sizeof(T));
    }
    std::memcpy(to + count - group, from + count - group, group * sizeof(T));
  }

  matrix_rows<T> from_;
  T* to_;
  std::int64_t stride_;
  std::int64_t rows_of_block_;
};

/// Whether numbers that belong to the next row are loaded behind the end of a row.
template <class T>
bool load_next_rows(const matrix_rows<T>& rows) {
  static_assert(sizeof(T) == 2);
  return loaded_length(rows.length) != rows.length && rows.count() > 1;
}

/// Whether one of two neighbouring rows of C is special, or the last one: as the first number of every second row
/// tells.
template <class T>
bool are_special(const matrix_rows<T>& c) {
  static_assert(sizeof(T) == 2);
  // Adding the lowest bit to a full exponent carries into the bit of the sign.
  constexpr unsigned lowest = exponent_bits<T> & (~exponent_bits<T> + 1);
  constexpr std::int64_t group = 4;
  const auto seen_of = [&](const T* number) {
    std::uint16_t bits;
    std::memcpy(&bits, number, sizeof(bits));
    return (bits & exponent_bits<T>)+lowest;
  };
  unsigned seen = 0;
  for (std::int64_t matrix = 0; matrix < c.matrices; ++matrix) {
    const T* const first = c.data + matrix * c.matrix_stride;
    unsigned of_group[group] = {};
    std::int64_t row = 1;
    for (; row + 2 * group <= c.rows; row += 2 * group) {
      for (std::int64_t i = 0; i < group; ++i) of_group[i] |= seen_of(first + (row + 2 * i) * c.stride);
    }
    for (; row < c.rows; row += 2) seen |= seen_of(first + row * c.stride);
    seen |= seen_of(first + (c.rows - 1) * c.stride);
    for (const unsigned some : of_group) seen |= some;
  }
  return (seen & 0x8000) != 0;
}

/// Whether something special may be loaded behind the end of a row. In rows without gaps it is a number of A, and the
/// last row is not loaded past its end. What lies in a gap is not A's, and others may write it meanwhile.
template <class Exec, class T>
bool may_load_special_numbers(const Exec& instance, const matrix_rows<T>& rows) {
  if (!load_next_rows(rows)) return false;
  if (!rows.have_no_gaps()) return true;
  static const std::string label = "prumo::gemm::special_numbers";
  constexpr double of_a_load = 2;  // nanoseconds
  std::atomic<bool> found = false;
  prumo::detail::launch_blocks(instance, label, special_numbers_kernel<T>(rows, found),
                               prumo::detail::host_work::repeated(rows.count(), of_a_load));
  return found;
}

template <class Exec, class T>
void copy_with_zeros_behind(const Exec& instance, const matrix_rows<T>& from, T* to) {
  static const std::string label = "prumo::gemm::zero_ended_rows";
  prumo::detail::launch_blocks(instance, label, zero_ended_rows_kernel<T>(from, to),
                               prumo::detail::host_work::streaming<T>(2 * from.count() * from.length));
}

}  // namespace PRUMO_INSTRUCTION_SET
}  // namespace prumo::backend
