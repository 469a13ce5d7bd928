// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "overlap.hpp"

#include <algorithm>
#include <numeric>

// An index i of a dimension of n elements moves an element by i * stride bytes, 0 <= i < n. So two arrays share a byte
// if and only if a sum of such multiples, of the dimensions of both, lies between two bounds. To decide that is an
// integer program with one row. It is solved by a depth-first search from the largest stride to the smallest one. At
// each node, bounds and greatest common divisors leave few candidates for the multiple of the largest stride, in most
// cases one. That common divisors prune such searches is from P. Ramachandran, "Use of extended Euclidean algorithm in
// solving a system of linear Diophantine equations with bounded variables", ANTS 2006, doi:10.1007/11792086_14, which
// NumPy's shares_memory() follows, too.

namespace prumo::detail {
namespace {

/// No array spans more bytes than this. The sums of two arrays then fit into 64 bits.
constexpr std::int64_t max_span = std::int64_t(1) << 62;

/// The numbers 0, unit, 2 * unit, ..., count * unit.
struct multiples {
  std::int64_t unit;
  std::int64_t count;
};

std::int64_t divide_upwards(std::int64_t numerator, std::int64_t denominator) {
  return numerator > 0 ? (numerator - 1) / denominator + 1 : 0;
}

/// The smallest n >= 0 for which low <= (factor * n) mod modulus <= high, or -1 if there is none for which
/// factor * n < 2^63. Expects 0 <= factor < modulus and 0 <= low <= high < modulus.
///
/// Where no multiple of the factor lies in the range, n is the first one after `wraps` times the modulus. To find
/// `wraps` is the same question with (modulus mod factor, factor), so this takes the steps of Euclid's algorithm.
std::int64_t first_residue_between(std::int64_t factor, std::int64_t modulus, std::int64_t low, std::int64_t high) {
  if (low == 0) return 0;
  if (factor == 0) return -1;
  const std::int64_t first = divide_upwards(low, factor);
  if (first <= high / factor) return first;
  const std::int64_t wraps =
      first_residue_between(modulus % factor, factor, factor - high % factor, factor - low % factor);
  if (wraps < 0) return -1;
  std::int64_t least;
  if (__builtin_mul_overflow(modulus, wraps, &least) || __builtin_add_overflow(least, low, &least)) return -1;
  return divide_upwards(least, factor);
}

/// The sums of one number of each of several sets of multiples. The largest sum is below 2^63.
class sums_of_multiples {
 public:
  /// Adds a set. The sets are kept in ascending order of their units.
  void add(multiples added) {
    if (added.count == 0 || added.unit == 0) return;
    int place = count_++;
    for (; place > 0 && sets_[place - 1].unit > added.unit; --place) sets_[place] = sets_[place - 1];
    sets_[place] = added;
  }

  /// Whether a sum lies between the bounds, both inclusive. Adds to `nodes` what it searches.
  overlap any_between(std::int64_t low, std::int64_t high, int& nodes) {
    merge();
    std::int64_t reach = 0;
    std::int64_t divisor = 0;
    for (int which = 0; which < count_; ++which) {
      reaches_[which] = reach += sets_[which].unit * sets_[which].count;
      const bool divides = divisor != 0 && sets_[which].unit % divisor == 0;
      divisors_[which] = divisor = divides ? divisor : std::gcd(divisor, sets_[which].unit);
    }
    return search(count_, low, high, nodes);
  }

 private:
  /// Merges two sets if all their sums are multiples of the smaller unit without a gap. The dimensions of a contiguous
  /// array are merged, and equal strides of two arrays.
  void merge() {
    int kept = 0;
    for (int which = 0; which < count_; ++which) {
      const multiples set = sets_[which];
      int into = kept - 1;
      for (; into >= 0; --into) {
        const multiples& smaller = sets_[into];
        if (set.unit - smaller.unit * smaller.count <= smaller.unit && set.unit % smaller.unit == 0) break;
      }
      if (into >= 0) {
        sets_[into].count += set.unit / sets_[into].unit * set.count;
      } else {
        sets_[kept++] = set;
      }
    }
    count_ = kept;
  }

  /// Whether a sum of the first `count` sets lies between the bounds.
  overlap search(int count, std::int64_t low, std::int64_t high, int& nodes) const {
    const std::int64_t reach = count > 0 ? reaches_[count - 1] : 0;
    if (high < 0 || low > reach) return overlap::none;
    if (low <= 0 || high >= reach) return overlap::some;
    if (high - high % divisors_[count - 1] < low) return overlap::none;
    if (count == 1) return overlap::some;
    if (nodes == overlap_search_limit) return overlap::unknown;
    ++nodes;
    const multiples largest = sets_[count - 1];
    const std::int64_t first = divide_upwards(low - reaches_[count - 2], largest.unit);
    const std::int64_t last = std::min(largest.count, high / largest.unit);
    // The sums of the smaller sets are densest in the middle of their range.
    const std::int64_t middle = first + (last - first) / 2;
    const overlap result = search_candidates(count, low, high, middle, last, nodes);
    return result != overlap::none ? result : search_candidates(count, low, high, first, middle - 1, nodes);
  }

  /// Tries multiples of the largest of `count` sets, from the first to the last one. It searches further below a
  /// multiple if the remaining range contains a multiple of the common divisor of all smaller units.
  overlap search_candidates(int count, std::int64_t low, std::int64_t high, std::int64_t first, std::int64_t last,
                            int& nodes) const {
    const std::int64_t unit = sets_[count - 1].unit;
    const std::int64_t divisor = divisors_[count - 2];
    const std::int64_t width = high - low;
    for (std::int64_t multiple = first; multiple <= last; ++multiple) {
      const std::int64_t residue = (high - multiple * unit) % divisor;
      if (residue > width) {
        const std::int64_t skipped = first_residue_between(unit % divisor, divisor, residue - width, residue);
        if (skipped < 0 || skipped > last - multiple) return overlap::none;
        multiple += skipped;
      }
      const overlap result = search(count - 1, low - multiple * unit, high - multiple * unit, nodes);
      if (result != overlap::none) return result;
    }
    return overlap::none;
  }

  multiples sets_[2 * max_compared_rank];
  std::int64_t reaches_[2 * max_compared_rank];   ///< the largest sum of the sets up to each one
  std::int64_t divisors_[2 * max_compared_rank];  ///< the greatest common divisor of the units up to each one
  int count_ = 0;
};

/// The addresses from an array's first byte to its last one.
struct byte_span {
  std::uintptr_t begin;
  std::int64_t bytes;  ///< 0 for an array without elements, -1 for more than max_span
};

byte_span span_of(const strided_bytes& array) {
  std::int64_t below = 0;
  std::int64_t above = 0;
  bool too_large = false;
  for (int dimension = 0; dimension < array.rank; ++dimension) {
    const std::int64_t last = array.extents[dimension] - 1;
    if (last < 0) return {array.address, 0};
    std::int64_t reach;
    too_large |= __builtin_mul_overflow(last, array.strides[dimension], &reach);
    std::int64_t& side = reach < 0 ? below : above;
    too_large |= __builtin_add_overflow(side, reach, &side);
  }
  std::int64_t bytes;
  too_large |= __builtin_sub_overflow(above, below, &bytes);
  too_large |= __builtin_add_overflow(bytes, 1, &bytes);
  too_large |= __builtin_mul_overflow(bytes, array.element_bytes, &bytes);
  if (too_large || bytes > max_span) return {array.address, -1};
  return {array.address + static_cast<std::uintptr_t>(below * array.element_bytes), bytes};
}

/// The distance that one index of a dimension moves an element, in elements and without its sign.
std::int64_t distance(std::int64_t stride) { return stride < 0 ? -stride : stride; }

void add_dimensions(sums_of_multiples& sums, const strided_bytes& array) {
  for (int dimension = 0; dimension < array.rank; ++dimension) {
    if (array.extents[dimension] == 1) continue;
    sums.add({distance(array.strides[dimension]) * array.element_bytes, array.extents[dimension] - 1});
  }
}

/// Whether arrays whose spans meet share a byte. The second span begins `between` bytes after the first one.
overlap search_shared_bytes(const strided_bytes& first, const strided_bytes& second, std::int64_t between,
                            std::int64_t second_bytes, int& nodes) {
  // All strides count as positive. Let element x of the first array begin x bytes after the start of its span, and
  // element y of the second one likewise. They share a byte if x + b = between + y + c for bytes b and c of an element.
  // With y = last - z this is x + z = between + last + c - b, and its left side is a sum of positive multiples of the
  // strides.
  sums_of_multiples sums;
  add_dimensions(sums, first);
  add_dimensions(sums, second);
  const std::int64_t last = second_bytes - second.element_bytes;
  return sums.any_between(between + last - (first.element_bytes - 1), between + last + (second.element_bytes - 1),
                          nodes);
}

/// Whether each stride is larger than the reach of all later dimensions (all earlier ones, if the last is not the
/// fastest), so that no element has two indices. Row-major and column-major arrays are nested, and so are their blocks.
bool is_nested(const strided_bytes& array, bool last_is_fastest) {
  std::int64_t reach = 0;
  for (int step = 0; step < array.rank; ++step) {
    const int dimension = last_is_fastest ? array.rank - 1 - step : step;
    const std::int64_t last = array.extents[dimension] - 1;
    if (last == 0) continue;
    const std::int64_t stride = array.strides[dimension];
    std::int64_t own;
    if (stride <= reach || __builtin_mul_overflow(last, stride, &own) || __builtin_add_overflow(reach, own, &reach)) {
      return false;
    }
  }
  return true;
}

/// Whether an element has two indices. The sets are the dimensions of one array that have two or more indices, in
/// ascending order and in elements.
overlap search_repeated_elements(const multiples* dimensions, int rank, int& nodes) {
  // The difference of two indices of one element is a sum of multiples between -count and count that is 0. The largest
  // unit that takes part does so with 1 or more, or else the indices are exchanged.
  overlap result = overlap::none;
  std::int64_t reach = 0;
  for (int largest = 0; largest < rank; ++largest) {
    const auto [unit, count] = dimensions[largest];
    if (unit <= reach) {
      sums_of_multiples sums;
      for (int smaller = 0; smaller < largest; ++smaller) {
        sums.add({dimensions[smaller].unit, 2 * dimensions[smaller].count});
      }
      sums.add({unit, count - 1});
      const overlap found = sums.any_between(reach - unit, reach - unit, nodes);
      if (found == overlap::some) return found;
      if (found == overlap::unknown) result = found;
    }
    reach += unit * count;
  }
  return result;
}

}  // namespace

overlap shared_bytes(const strided_bytes& first, const strided_bytes& second, int* nodes) {
  if (nodes != nullptr) *nodes = 0;
  const byte_span a = span_of(first);
  const byte_span b = span_of(second);
  if (a.bytes == 0 || b.bytes == 0) return overlap::none;
  if (a.bytes < 0 || b.bytes < 0) return overlap::unknown;
  // In unsigned numbers, a negative distance is larger than any span.
  const std::uintptr_t forwards = b.begin - a.begin;
  const std::uintptr_t backwards = a.begin - b.begin;
  if (forwards >= static_cast<std::uintptr_t>(a.bytes) && backwards >= static_cast<std::uintptr_t>(b.bytes)) {
    return overlap::none;
  }
  int searched = 0;
  const overlap result = search_shared_bytes(first, second, static_cast<std::int64_t>(forwards), b.bytes, searched);
  if (nodes != nullptr) *nodes = searched;
  return result;
}

overlap repeated_elements(const strided_bytes& array, int* nodes) {
  if (nodes != nullptr) *nodes = 0;
  if (is_nested(array, true) || is_nested(array, false)) return overlap::none;
  const std::int64_t bytes = span_of(array).bytes;
  if (bytes == 0) return overlap::none;
  if (bytes < 0) return overlap::unknown;
  multiples dimensions[max_compared_rank];
  int rank = 0;
  for (int dimension = array.rank - 1; dimension >= 0; --dimension) {
    if (array.extents[dimension] == 1) continue;
    const multiples added{distance(array.strides[dimension]), array.extents[dimension] - 1};
    if (added.unit == 0) return overlap::some;
    int place = rank++;
    for (; place > 0 && dimensions[place - 1].unit > added.unit; --place) dimensions[place] = dimensions[place - 1];
    dimensions[place] = added;
  }
  int searched = 0;
  const overlap result = search_repeated_elements(dimensions, rank, searched);
  if (nodes != nullptr) *nodes = searched;
  return result;
}

}  // namespace prumo::detail
