// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reduction_reference.hpp"

#include <prumo/case/host_threads.hpp>
#include <prumo/case/rounding.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace prumo::cases {
namespace {

using prumo::reduction;

/// Calls visit(numbers, index of the first) for elements `begin` to `end` of a row of the case's data, piece by piece.
template <class Visit>
void for_each_piece(const input_values& inputs, const case_row& row, std::int64_t begin, std::int64_t end,
                    const Visit& visit) {
  constexpr std::int64_t piece = 4096;
  std::vector<double> numbers;
  for (std::int64_t at = begin; at < end; at += piece) {
    numbers.resize(static_cast<std::size_t>(std::min(piece, end - at)));
    row.read(inputs, at, numbers);
    visit(numbers, at);
  }
}

/// What `Part` finds in each stretch of a row, in order. The threads of the host share the stretches of a long row.
template <class Part>
std::vector<Part> parts_of(const input_values& inputs, const case_row& row) {
  constexpr std::int64_t stretch = std::int64_t{1} << 20;
  std::vector<Part> parts(static_cast<std::size_t>((row.count + stretch - 1) / stretch));
  share_pieces(static_cast<std::int64_t>(parts.size()), [&](std::int64_t which) {
    const std::int64_t begin = which * stretch;
    Part& part = parts[static_cast<std::size_t>(which)];
    for_each_piece(inputs, row, begin, std::min(row.count, begin + stretch),
                   [&](const std::vector<double>& numbers, std::int64_t first) { part.add(numbers, first); });
  });
  return parts;
}

/// The sum of terms and of their absolute values, exact enough for every type: pieces are added in long double, and
/// pieces to one another with compensation (Neumaier 1974).
template <bool OfSquares>
class compensated_sum {
 public:
  void add(const std::vector<double>& numbers, std::int64_t) {
    long double partial = 0;
    for (const double number : numbers) {
      const auto wide = static_cast<long double>(number);
      const long double term = OfSquares ? wide * wide : wide;
      partial += term;
      magnitude_ += std::fabs(term);
    }
    add(partial);
  }
  void add(const compensated_sum& other) {
    add(other.value_);
    compensation_ += other.compensation_;
    magnitude_ += other.magnitude_;
  }

  long double value() const { return value_ + compensation_; }
  long double magnitude() const { return magnitude_; }

 private:
  void add(long double partial) {
    const long double total = value_ + partial;
    compensation_ += std::fabs(value_) >= std::fabs(partial) ? (value_ - total) + partial : (partial - total) + value_;
    value_ = total;
  }

  long double value_ = 0, compensation_ = 0, magnitude_ = 0;
};

struct exact_sum {
  long double value = 0;
  long double magnitude = 0;
};

template <bool OfSquares>
exact_sum sum_of(const input_values& inputs, const case_row& row) {
  compensated_sum<OfSquares> whole;
  for (const auto& part : parts_of<compensated_sum<OfSquares>>(inputs, row)) whole.add(part);
  return {whole.value(), whole.magnitude()};
}

/// The first of the largest or smallest elements. The data hold no NaN.
template <bool Smallest>
struct exact_extreme {
  double value = 0;
  std::int64_t index = -1;

  void add(const std::vector<double>& numbers, std::int64_t first) {
    const auto found = Smallest ? std::ranges::min_element(numbers) : std::ranges::max_element(numbers);
    take(*found, first + (found - numbers.begin()));
  }
  void take(double candidate, std::int64_t place) {
    if (index >= 0 && !(Smallest ? candidate < value : candidate > value)) return;
    value = candidate;
    index = place;
  }
};

template <bool Smallest>
exact_extreme<Smallest> extreme_of(const input_values& inputs, const case_row& row) {
  exact_extreme<Smallest> whole;
  for (const auto& part : parts_of<exact_extreme<Smallest>>(inputs, row)) whole.take(part.value, part.index);
  return whole;
}

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
    case reduction::mean: entry = reference_of_sum(kind, type, sum_of<false>(inputs, row), row.count, depth); break;
    case reduction::sum_of_squares:
      entry = reference_of_sum(kind, type, sum_of<true>(inputs, row), row.count, depth);
      break;
    case reduction::max: entry = {1, 0, static_cast<long double>(extreme_of<false>(inputs, row).value), 0}; break;
    case reduction::min: entry = {1, 0, static_cast<long double>(extreme_of<true>(inputs, row).value), 0}; break;
    case reduction::argmax: entry = {1, 0, static_cast<long double>(extreme_of<false>(inputs, row).index), 0}; break;
    case reduction::argmin: entry = {1, 0, static_cast<long double>(extreme_of<true>(inputs, row).index), 0}; break;
  }
  entry.index = index;
  return entry;
}

}  // namespace prumo::cases
