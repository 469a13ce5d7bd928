// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The matrix product in higher precision, a tile of C at a time, from the numbers that made the inputs.

#include <prumo/case/operation_case.hpp>
#include <prumo/counted.hpp>

#include <algorithm>
#include <vector>

namespace prumo::cases {

/// One tile of A B and of |A| |B|: in double for types of 24 bits and fewer, whose products are exact in it;
/// for f64 by compensated sums as good as twice its precision (Ogita, Rump and Oishi, "Accurate sum and dot
/// product", SIAM J. Sci. Comput. 26 (2005), algorithm 5.3).
class product_reference {
 public:
  struct extents {
    std::int64_t m, n, k;
    bool trans_a, trans_b;
    std::int64_t which = 0;  ///< of a batch, whose matrices are stacked: the rows of one follow those of another
    /// Of f8: the number of products that a unit for matrix products sums before the sum goes to f32.
    std::int64_t stretch = 128;
  };

  /// Tile number `part` of parts(), row by row of tiles; A is array 0 of the inputs and B array 1.
  product_reference(dtype type, const input_values& inputs, std::int64_t part, const extents& whole);

  static std::int64_t parts(std::int64_t m, std::int64_t n);
  static double part_cost(std::int64_t m, std::int64_t n, std::int64_t k);

  std::int64_t first_row() const { return first_row_; }
  std::int64_t first_column() const { return first_column_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  /// Entry (i, j) of the tile.
  long double sum(std::int64_t i, std::int64_t j) const {
    const auto index = static_cast<std::size_t>(i * columns_ + j);
    return static_cast<long double>(sums_[index]) + static_cast<long double>(corrections_[index]);
  }
  long double sum_of_magnitudes(std::int64_t i, std::int64_t j) const {
    return static_cast<long double>(magnitudes_[static_cast<std::size_t>(i * columns_ + j)]);
  }

  /// The most that a unit for products of f8 can cut off of entry (i, j); 0 for other types. NVIDIA does not document
  /// how Hopper adds. Measurements show two steps: it aligns the running sum and 32 products to the largest of
  /// these numbers. Then it keeps the 14 highest bits of each number, and of their sum (DeepSeek-AI, "DeepSeek-V3
  /// technical report", arXiv:2412.19437, 2024, section 3.5.2). The inputs here are multiples of 2^-4 below 1, and
  /// their products are multiples of 2^-8. So nothing is lost while running sums stay below 32.
  long double cut_off(std::int64_t i, std::int64_t j) const {
    return cut_off_.empty() ? 0 : static_cast<long double>(cut_off_[static_cast<std::size_t>(i * columns_ + j)]);
  }

 private:
  std::int64_t first_row_;
  std::int64_t first_column_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<double> sums_;
  std::vector<double> corrections_;
  std::vector<double> magnitudes_;
  std::vector<double> cut_off_;
};

/// The first `count` elements of array number `which`, as scalars that count.
template <class T>
std::vector<counted<T>> counted_values(const input_values& inputs, std::size_t which, std::int64_t count) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  inputs.read(which, 0, numbers);
  std::vector<counted<T>> values(numbers.size());
  std::transform(numbers.begin(), numbers.end(), values.begin(),
                 [](double number) { return counted<T>(static_cast<T>(number)); });
  return values;
}

}  // namespace prumo::cases
