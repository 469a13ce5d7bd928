// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction_reference.hpp"

#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace prumo::cases {
namespace {

using prumo::reduction;

/// Calls visit(numbers, index of the first) for one row of the case's data, piece by piece.
void for_each_piece(const input_values& inputs, const case_row& row,
                    const std::function<void(const std::vector<double>&, std::int64_t)>& visit) {
  constexpr std::int64_t piece = 4096;
  std::vector<double> numbers;
  for (std::int64_t at = 0; at < row.count; at += piece) {
    numbers.resize(static_cast<std::size_t>(std::min(piece, row.count - at)));
    row.read(inputs, at, numbers);
    visit(numbers, at);
  }
}

/// The sum of the terms of a row and of their absolute values, exact enough for every type: pieces are added in long
/// double, and pieces to one another with compensation (Neumaier 1974).
struct exact_sum {
  long double value = 0;
  long double magnitude = 0;

  exact_sum(const input_values& inputs, const case_row& row, bool of_squares) {
    long double compensation = 0;
    for_each_piece(inputs, row, [&](const std::vector<double>& numbers, std::int64_t) {
      long double partial = 0;
      for (const double number : numbers) {
        const auto wide = static_cast<long double>(number);
        const long double term = of_squares ? wide * wide : wide;
        partial += term;
        magnitude += std::fabs(term);
      }
      const long double total = value + partial;
      compensation += std::fabs(value) >= std::fabs(partial) ? (value - total) + partial : (partial - total) + value;
      value = total;
    });
    value += compensation;
  }
};

/// The first of the largest or smallest elements of a row. The data hold no NaN.
struct exact_extreme {
  double value = 0;
  std::int64_t index = -1;

  exact_extreme(const input_values& inputs, const case_row& row, bool smallest) {
    for_each_piece(inputs, row, [&](const std::vector<double>& numbers, std::int64_t first) {
      const auto found = smallest ? std::ranges::min_element(numbers) : std::ranges::max_element(numbers);
      const bool is_better = index < 0 || (smallest ? *found < value : *found > value);
      if (!is_better) return;
      value = *found;
      index = first + (found - numbers.begin());
    });
  }
};

/// n products of sums of depth d: gamma_d of the terms' magnitudes (Higham, section 4.2). A square is rounded once
/// more, unless a fused multiply-add does it with the addition: gamma_(d+1). A mean takes a division, of whose operands
/// the count has been rounded to the compute type: |result - exact| <= gamma_(d+2) sum |x_i| / n.
reference_entry reference_of_sum(reduction kind, dtype type, const exact_sum& exact, std::int64_t columns,
                                 std::int64_t of_sum) {
  const dtype computed = compute_type(type);
  auto depth = static_cast<double>(of_sum);
  long double value = exact.value;
  long double magnitude = exact.magnitude;
  if (kind == reduction::sum_of_squares) depth += 1;
  if (kind == reduction::mean) {
    if (columns == 0) return {1, 0, std::numeric_limits<long double>::quiet_NaN(), 0};
    depth += 2;
    value /= static_cast<long double>(columns);
    magnitude /= static_cast<long double>(columns);
  }
  return {1, 0, value, stored_bound(type, value, gamma(computed, depth) * magnitude)};
}

}  // namespace

void case_row::read(const input_values& inputs, std::int64_t first, std::span<double> out) const {
  while (!out.empty()) {
    const std::int64_t which = first / run;
    const std::int64_t within = first - which * run;
    const std::size_t taken = std::min(out.size(), static_cast<std::size_t>(run - within));
    inputs.read(0, begin + which * step + within, out.first(taken));
    first += static_cast<std::int64_t>(taken);
    out = out.subspan(taken);
  }
}

reference_entry reduction_reference(reduction kind, dtype type, const input_values& inputs, const case_row& row,
                                    std::int64_t index, std::int64_t depth) {
  reference_entry entry{};
  switch (kind) {
    case reduction::sum:
    case reduction::sum_of_squares:
    case reduction::mean: {
      const exact_sum exact(inputs, row, kind == reduction::sum_of_squares);
      entry = reference_of_sum(kind, type, exact, row.count, depth);
      break;
    }
    case reduction::max:
    case reduction::min:
      entry = {1, 0, static_cast<long double>(exact_extreme(inputs, row, kind == reduction::min).value), 0};
      break;
    case reduction::argmax:
    case reduction::argmin:
      entry = {1, 0, static_cast<long double>(exact_extreme(inputs, row, kind == reduction::argmin).index), 0};
      break;
  }
  entry.index = index;
  return entry;
}

}  // namespace prumo::cases
