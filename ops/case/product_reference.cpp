// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/product_reference.hpp>
#include <prumo/detail/compiler.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

constexpr std::int64_t tile_rows = 32;
constexpr std::int64_t tile_columns = 64;

std::int64_t tiles_along(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

/// Rows begin ... begin + count - 1 of a matrix of `depth` columns, each in order; the matrix lies in array `which`
/// from element `first` on, stored row-major with `total` rows, or transposed.
std::vector<double> read_rows(const input_values& inputs, std::size_t which, std::int64_t first, bool stored_transposed,
                              std::int64_t total, std::int64_t begin, std::int64_t count, std::int64_t depth) {
  std::vector<double> rows(static_cast<std::size_t>(count * depth));
  if (!stored_transposed) {
    inputs.read(which, first + begin * depth, rows);
    return rows;
  }
  std::vector<double> line(static_cast<std::size_t>(count));
  for (std::int64_t p = 0; p < depth; ++p) {
    inputs.read(which, first + p * total + begin, line);
    for (std::int64_t i = 0; i < count; ++i) {
      rows[static_cast<std::size_t>(i * depth + p)] = line[static_cast<std::size_t>(i)];
    }
  }
  return rows;
}

/// sum += a b and correction += what that lost (Ogita, Rump, Oishi, Accurate sum and dot product, SIAM J. Sci. Comput.
/// 26 (2005), Dot2). The plain operations must stay apart: no contraction to fma.
inline void add_product(double a, double b, double& sum, double& correction) {
  const double product = a * b;
  const double product_error = std::fma(a, b, -product);
  const double next = sum + product;
  const double addend = next - sum;
  const double sum_error = (sum - (next - addend)) + (product - addend);
  sum = next;
  correction += product_error + sum_error;
}

/// What a unit for products of f8 may cut off the sums of a row of C.
class unit_sums {
 public:
  /// Products that are added at once.
  static constexpr std::int64_t block = 32;

  unit_sums(std::int64_t columns, std::int64_t stretch) : stretch_(stretch), rows_(static_cast<std::size_t>(columns)) {}

  /// `sums` are those of the first `count` products; called after each block.
  void add_block(const double* sums, std::int64_t count, double* cut_off) {
    for (std::size_t j = 0; j < rows_.size(); ++j) {
      entry& it = rows_[j];
      const double running = sums[j] - it.begin;
      const double largest = std::max(std::fabs(it.running), std::fabs(running)) + it.lost;
      it.lost += lost_of_a_block(largest);
      it.running = running;
      if (count % stretch_ != 0) continue;
      cut_off[j] += it.lost;
      it = {sums[j], 0, 0};
    }
  }

  /// Adds what the last stretch lost where it is shorter.
  void finish(double* cut_off) const {
    for (std::size_t j = 0; j < rows_.size(); ++j) cut_off[j] += rows_[j].lost;
  }

 private:
  struct entry {
    double begin = 0;    ///< the sum before this stretch
    double running = 0;  ///< since then
    double lost = 0;     ///< likewise
  };

  static double lost_of_a_block(double largest) {
    constexpr double exact_below = 32;
    constexpr double grid_of_products = 0x1p-8;
    constexpr int bits = 14;
    if (largest < exact_below) return 0;
    // The highest bit of a product stands for twice the power of two that products are aligned by.
    const double grid = std::ldexp(1.0, std::ilogb(largest) + 2 - bits);
    return static_cast<double>(block + 2) * (grid - grid_of_products);
  }

  std::int64_t stretch_;
  std::vector<entry> rows_;
};

}  // namespace

std::int64_t product_reference::parts(std::int64_t m, std::int64_t n) {
  return tiles_along(m, tile_rows) * tiles_along(n, tile_columns);
}

double product_reference::part_cost(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto rows = static_cast<double>(std::min(m, tile_rows));
  const auto columns = static_cast<double>(std::min(n, tile_columns));
  // Making an input anew costs about as much as twenty terms of a sum.
  return static_cast<double>(k) * (2 * rows * columns + 20 * (rows + columns)) + rows * columns;
}

product_reference::product_reference(dtype type, const input_values& inputs, std::int64_t part, const extents& whole)
    : first_row_(part / tiles_along(whole.n, tile_columns) * tile_rows),
      first_column_(part % tiles_along(whole.n, tile_columns) * tile_columns),
      rows_(std::min(tile_rows, whole.m - first_row_)),
      columns_(std::min(tile_columns, whole.n - first_column_)),
      sums_(static_cast<std::size_t>(rows_ * columns_)),
      corrections_(sums_.size()),
      magnitudes_(sums_.size()),
      cut_off_(type == dtype::f8_e4m3 ? sums_.size() : 0) {
  const std::int64_t k = whole.k;
  const std::vector<double> a =
      read_rows(inputs, 0, whole.which * whole.m * k, whole.trans_a, whole.m, first_row_, rows_, k);
  // Columns of op(B) as rows, then turned so that the innermost loop runs along a row of C.
  const std::vector<double> turned =
      read_rows(inputs, 1, whole.which * k * whole.n, !whole.trans_b, whole.n, first_column_, columns_, k);
  std::vector<double> b(turned.size());
  for (std::int64_t j = 0; j < columns_; ++j) {
    for (std::int64_t p = 0; p < k; ++p)
      b[static_cast<std::size_t>(p * columns_ + j)] = turned[static_cast<std::size_t>(j * k + p)];
  }
  for (std::int64_t i = 0; i < rows_; ++i) {
    double* const sum = sums_.data() + i * columns_;
    double* const correction = corrections_.data() + i * columns_;
    double* const magnitude = magnitudes_.data() + i * columns_;
    double* const cut_off = cut_off_.empty() ? nullptr : cut_off_.data() + i * columns_;
    unit_sums in_unit(cut_off != nullptr ? columns_ : 0, whole.stretch);
    for (std::int64_t p = 0; p < k; ++p) {
      const double left = a[static_cast<std::size_t>(i * k + p)];
      const double* const right = b.data() + p * columns_;
      PRUMO_INDEPENDENT_ITERATIONS
      for (std::int64_t j = 0; j < columns_; ++j) {
        magnitude[j] += std::fabs(left * right[j]);
        if (type == dtype::f64) {
          add_product(left, right[j], sum[j], correction[j]);
        } else {
          sum[j] += left * right[j];
        }
      }
      if ((p + 1) % unit_sums::block == 0 || p + 1 == k) in_unit.add_block(sum, p + 1, cut_off);
    }
    in_unit.finish(cut_off);
  }
}

}  // namespace prumo::cases
