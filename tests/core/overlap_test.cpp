// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

namespace prumo::detail {

void PrintTo(overlap answer, std::ostream* out) {
  *out << std::array{"none", "some", "unknown"}[static_cast<std::size_t>(answer)];
}

namespace {

constexpr std::int64_t huge = std::int64_t(1) << 62;

/// A strided array that owns its extents and strides.
struct layout {
  std::uintptr_t address;
  std::int64_t element_bytes;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;

  strided_bytes get() const {
    return {address, element_bytes, static_cast<int>(extents.size()), extents.data(), strides.data()};
  }
};

/// The address of every element, one for each index.
std::vector<std::uintptr_t> addresses_of(const layout& array) {
  std::vector<std::uintptr_t> addresses{array.address};
  for (std::size_t dimension = 0; dimension < array.extents.size(); ++dimension) {
    std::vector<std::uintptr_t> next;
    for (const std::uintptr_t address : addresses) {
      for (std::int64_t index = 0; index < array.extents[dimension]; ++index) {
        next.push_back(address + static_cast<std::uintptr_t>(index * array.strides[dimension] * array.element_bytes));
      }
    }
    addresses = next;
  }
  return addresses;
}

std::vector<std::uintptr_t> bytes_of(const layout& array) {
  std::vector<std::uintptr_t> bytes;
  for (const std::uintptr_t address : addresses_of(array)) {
    for (std::int64_t byte = 0; byte < array.element_bytes; ++byte) {
      bytes.push_back(address + static_cast<std::uintptr_t>(byte));
    }
  }
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

overlap shared_bytes_by_listing(const layout& first, const layout& second) {
  const std::vector<std::uintptr_t> a = bytes_of(first);
  const std::vector<std::uintptr_t> b = bytes_of(second);
  std::vector<std::uintptr_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both.empty() ? overlap::none : overlap::some;
}

overlap repeated_elements_by_listing(const layout& array) {
  std::vector<std::uintptr_t> addresses = addresses_of(array);
  std::sort(addresses.begin(), addresses.end());
  return std::adjacent_find(addresses.begin(), addresses.end()) == addresses.end() ? overlap::none : overlap::some;
}

std::ostream& operator<<(std::ostream& out, const layout& array) {
  out << "address " << array.address << ", " << array.element_bytes << " bytes, extents (";
  for (const std::int64_t extent : array.extents) out << extent << ' ';
  out << "), strides (";
  for (const std::int64_t stride : array.strides) out << stride << ' ';
  return out << ')';
}

/// Random small arrays, from 0 to `most_dimensions` dimensions.
class random_layouts {
 public:
  random_layouts(std::uint64_t seed, int most_dimensions, int largest_extent, int largest_stride, int addresses)
      : generator_(seed),
        most_dimensions_(most_dimensions),
        largest_extent_(largest_extent),
        largest_stride_(largest_stride),
        addresses_(addresses) {}

  layout next() {
    layout array{10000 + static_cast<std::uintptr_t>(up_to(addresses_)), std::int64_t(1) << up_to(3), {}, {}};
    for (std::int64_t dimensions = up_to(most_dimensions_); dimensions > 0; --dimensions) {
      array.extents.push_back(up_to(40) == 0 ? 0 : 1 + up_to(largest_extent_ - 1));
      array.strides.push_back(up_to(2 * largest_stride_) - largest_stride_);
    }
    return array;
  }

 private:
  std::int64_t up_to(int most) {
    return static_cast<std::int64_t>(generator_() % (static_cast<std::uint64_t>(most) + 1));
  }

  std::mt19937_64 generator_;
  int most_dimensions_;
  int largest_extent_;
  int largest_stride_;
  int addresses_;
};

/// How often each answer was right.
using answers = std::array<int, 2>;

answers compare_shared_bytes(random_layouts layouts, int count) {
  answers found{};
  for (int which = 0; which < count; ++which) {
    const layout first = layouts.next();
    const layout second = layouts.next();
    const overlap expected = shared_bytes_by_listing(first, second);
    EXPECT_EQ(shared_bytes(first.get(), second.get()), expected) << first << "; " << second;
    EXPECT_EQ(shared_bytes(second.get(), first.get()), expected) << second << "; " << first;
    ++found[expected == overlap::some];
  }
  return found;
}

answers compare_repeated_elements(random_layouts layouts, int count) {
  answers found{};
  for (int which = 0; which < count; ++which) {
    const layout array = layouts.next();
    const overlap expected = repeated_elements_by_listing(array);
    EXPECT_EQ(repeated_elements(array.get()), expected) << array;
    ++found[expected == overlap::some];
  }
  return found;
}

overlap shared(const layout& first, const layout& second) {
  int nodes = -1;
  const overlap answer = shared_bytes(first.get(), second.get(), &nodes);
  EXPECT_LE(nodes, 2) << first << "; " << second << ": more is searched than a common case needs";
  EXPECT_EQ(shared_bytes(second.get(), first.get()), answer);
  return answer;
}

overlap repeated(const layout& array) {
  int nodes = -1;
  const overlap answer = repeated_elements(array.get(), &nodes);
  EXPECT_LE(nodes, 2) << array << ": more is searched than a common case needs";
  return answer;
}

/// Rows `row` to `row + rows` and columns `column` to `column + columns` of a row-major f32 matrix of 100 columns.
layout block(int row, int rows, int column, int columns) {
  return {static_cast<std::uintptr_t>(1000 + 4 * (100 * row + column)), 4, {rows, columns}, {100, 1}};
}

TEST(overlap, agrees_with_a_list_of_all_bytes) {
  const answers small = compare_shared_bytes({1, 4, 4, 7, 120}, 20000);
  EXPECT_GT(small[0], 1000);
  EXPECT_GT(small[1], 1000);
  const answers large = compare_shared_bytes({2, 3, 9, 60, 2000}, 10000);
  EXPECT_GT(large[0], 1000);
  EXPECT_GT(large[1], 1000);
}

TEST(overlap, repeated_elements_agree_with_a_list_of_all_addresses) {
  const answers small = compare_repeated_elements({3, 4, 4, 7, 120}, 20000);
  EXPECT_GT(small[0], 1000);
  EXPECT_GT(small[1], 1000);
  const answers large = compare_repeated_elements({4, 4, 9, 300, 2000}, 10000);
  EXPECT_GT(large[0], 1000);
  EXPECT_GT(large[1], 1000);
}

TEST(overlap, large_strides_give_the_answer_of_small_ones) {
  // Elements of one byte at distances that are all multiples of one large number.
  constexpr std::int64_t scale = std::int64_t(1) << 54;
  random_layouts layouts(5, 3, 4, 7, 40);
  for (int which = 0; which < 10000; ++which) {
    std::array<layout, 2> arrays{layouts.next(), layouts.next()};
    for (layout& array : arrays) array.element_bytes = 1;
    const overlap expected = shared_bytes_by_listing(arrays[0], arrays[1]);
    const overlap expected_repeated = repeated_elements_by_listing(arrays[0]);
    for (layout& array : arrays) {
      array.address = (array.address - 10000) * static_cast<std::uintptr_t>(scale);
      for (std::int64_t& stride : array.strides) stride *= scale;
    }
    EXPECT_EQ(shared_bytes(arrays[0].get(), arrays[1].get()), expected) << arrays[0] << "; " << arrays[1];
    EXPECT_EQ(repeated_elements(arrays[0].get()), expected_repeated) << arrays[0];
  }
}

TEST(overlap, large_strides_without_a_common_divisor) {
  std::mt19937_64 generator(6);
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(generator() % (static_cast<std::uint64_t>(most) + 1));
  };
  answers found{};
  for (int which = 0; which < 10000; ++which) {
    std::array<layout, 2> arrays;
    for (layout& array : arrays) {
      array = {std::uintptr_t(1) << 63, 1, {}, {}};
      for (std::int64_t dimensions = 1 + up_to(1); dimensions > 0; --dimensions) {
        array.extents.push_back(1 + up_to(6));
        array.strides.push_back(up_to(huge / 8) - huge / 16);
      }
    }
    // An element of one array lies on one of the other array, or one byte beside it.
    const std::vector<std::uintptr_t> first = addresses_of(arrays[0]);
    const std::vector<std::uintptr_t> second = addresses_of(arrays[1]);
    arrays[1].address += first[generator() % first.size()] - second[generator() % second.size()];
    arrays[1].address += static_cast<std::uintptr_t>(up_to(1));
    const overlap expected = shared_bytes_by_listing(arrays[0], arrays[1]);
    EXPECT_EQ(shared_bytes(arrays[0].get(), arrays[1].get()), expected) << arrays[0] << "; " << arrays[1];
    ++found[expected == overlap::some];
  }
  EXPECT_GT(found[0], 1000);
  EXPECT_GT(found[1], 1000);
}

TEST(overlap, blocks_of_one_matrix) {
  EXPECT_EQ(shared(block(0, 50, 0, 100), block(50, 50, 0, 100)), overlap::none);  // row panels
  EXPECT_EQ(shared(block(0, 50, 0, 60), block(0, 50, 60, 40)), overlap::none);    // column panels
  EXPECT_EQ(shared(block(0, 50, 0, 61), block(0, 50, 60, 40)), overlap::some);
  EXPECT_EQ(shared(block(10, 20, 10, 30), block(20, 70, 40, 60)), overlap::none);
  EXPECT_EQ(shared(block(10, 20, 10, 31), block(29, 70, 40, 60)), overlap::some);
  EXPECT_EQ(shared(block(10, 20, 10, 31), block(30, 70, 40, 60)), overlap::none);
  EXPECT_EQ(shared(block(0, 100, 99, 1), block(0, 100, 0, 1)), overlap::none);  // the last column and the first
}

TEST(overlap, transposed_views) {
  const layout upper = block(0, 50, 50, 50);
  layout lower = block(50, 50, 0, 50);
  std::swap(lower.strides[0], lower.strides[1]);
  EXPECT_EQ(shared(upper, lower), overlap::none);
  layout square = block(20, 40, 20, 40);
  const layout whole = square;
  std::swap(square.strides[0], square.strides[1]);
  EXPECT_EQ(shared(whole, square), overlap::some);
  EXPECT_EQ(repeated(square), overlap::none);
}

TEST(overlap, slices_of_a_fused_buffer) {
  // [tokens, (query, key, value), heads, width] in f16; each slice is [tokens, heads, width].
  const std::int64_t heads = 12;
  const std::int64_t width = 64;
  const auto slice = [&](std::int64_t which) {
    return layout{static_cast<std::uintptr_t>(4096 + 2 * which * heads * width),
                  2,
                  {77, heads, width},
                  {3 * heads * width, width, 1}};
  };
  EXPECT_EQ(shared(slice(0), slice(1)), overlap::none);
  EXPECT_EQ(shared(slice(0), slice(2)), overlap::none);
  EXPECT_EQ(shared(slice(1), slice(1)), overlap::some);
  // One head of all tokens, transposed, beside the slice's other heads.
  layout head = slice(0);
  head.extents = {width, 77};
  head.strides = {1, 3 * heads * width};
  layout others = slice(0);
  others.address += static_cast<std::uintptr_t>(2 * width);
  others.extents[1] = heads - 1;
  EXPECT_EQ(shared(head, others), overlap::none);
  EXPECT_EQ(repeated(others), overlap::none);
}

TEST(overlap, interleaved_arrays) {
  const layout real{800, 4, {1000}, {2}};
  const layout imaginary{804, 4, {1000}, {2}};
  EXPECT_EQ(shared(real, imaginary), overlap::none);
  EXPECT_EQ(shared(real, {808, 4, {1000}, {2}}), overlap::some);
  EXPECT_EQ(shared(real, {802, 4, {1000}, {2}}), overlap::some);              // off by half an element
  EXPECT_EQ(shared({700, 8, {9}, {-3}}, {636, 8, {9}, {6}}), overlap::none);  // every third, by residues
  EXPECT_EQ(shared({700, 8, {9}, {-3}}, {628, 8, {9}, {6}}), overlap::some);
}

TEST(overlap, coprime_strides_meet_where_the_remainders_do) {
  // 1000003 i = begin + 999983 j has one solution with i < 999983: the one that it is made of.
  const std::int64_t i = 876543;
  const std::int64_t j = 234567;
  const auto begin = static_cast<std::uintptr_t>(1000003 * i - 999983 * j);
  EXPECT_EQ(shared({0, 1, {i + 1}, {1000003}}, {begin, 1, {j + 1}, {999983}}), overlap::some);
  EXPECT_EQ(shared({0, 1, {i}, {1000003}}, {begin, 1, {j + 1}, {999983}}), overlap::none);
  EXPECT_EQ(shared({0, 1, {i + 1}, {1000003}}, {begin, 1, {j}, {999983}}), overlap::none);
}

TEST(overlap, elements_of_different_sizes) {
  const layout floats{400, 4, {10}, {2}};
  EXPECT_EQ(shared(floats, {404, 2, {10}, {4}}), overlap::none);  // halves in the gaps
  EXPECT_EQ(shared(floats, {406, 2, {10}, {4}}), overlap::none);
  EXPECT_EQ(shared(floats, {402, 2, {1}, {4}}), overlap::some);
  EXPECT_EQ(shared(floats, {404, 8, {1}, {1}}), overlap::some);
  EXPECT_EQ(shared({404, 2, {}, {}}, floats), overlap::none);
  EXPECT_EQ(shared({408, 2, {}, {}}, floats), overlap::some);
}

TEST(overlap, inputs_that_repeat_elements) {
  const layout row{4000, 4, {1000, 100}, {0, 1}};
  EXPECT_EQ(shared(row, {4400, 4, {1000, 100}, {100, 1}}), overlap::none);
  EXPECT_EQ(shared(row, {4396, 4, {1000, 100}, {100, 1}}), overlap::some);
  EXPECT_EQ(repeated(row), overlap::some);
  EXPECT_EQ(repeated({4000, 4, {1, 100}, {0, 1}}), overlap::none);
}

TEST(overlap, arrays_that_repeat_elements) {
  EXPECT_EQ(repeated({0, 4, {3, 3}, {1, 1}}), overlap::some);
  EXPECT_EQ(repeated({0, 4, {3, 3}, {1, -1}}), overlap::some);
  EXPECT_EQ(repeated({0, 4, {100, 5}, {1, 1}}), overlap::some);     // windows: a Hankel matrix
  EXPECT_EQ(repeated({400, 4, {5, 100}, {-1, 1}}), overlap::some);  // a Toeplitz matrix
  EXPECT_EQ(repeated({0, 4, {20, 5}, {5, 1}}), overlap::none);      // windows side by side
  EXPECT_EQ(repeated({0, 4, {3, 2}, {2, 3}}), overlap::none);       // 0 2 4 3 5 7: neither contains the other
  EXPECT_EQ(repeated({0, 4, {4, 3}, {2, 3}}), overlap::some);       // 2 * 3 = 3 * 2
  EXPECT_EQ(repeated({0, 4, {2, 3, 1000003}, {7000021, 7000021, 7}}), overlap::some);
  EXPECT_EQ(repeated({0, 4, {2, 1000003}, {7000021, 7}}), overlap::none);
}

TEST(overlap, empty_arrays_and_single_elements) {
  const layout memory{64, 4, {100}, {1}};
  EXPECT_EQ(shared(memory, {100, 4, {5, 0}, {1, 1}}), overlap::none);
  EXPECT_EQ(shared({0, 1, {0, huge, huge}, {huge, huge, huge}}, memory), overlap::none);
  EXPECT_EQ(repeated({0, 4, {7, 0}, {0, 1}}), overlap::none);
  EXPECT_EQ(repeated({0, 8, {}, {}}), overlap::none);
  EXPECT_EQ(shared({64, 4, {}, {}}, {67, 8, {}, {}}), overlap::some);
  EXPECT_EQ(shared({64, 4, {}, {}}, {68, 8, {}, {}}), overlap::none);
  EXPECT_EQ(shared({68, 8, {1, 1}, {huge, -huge}}, memory), overlap::some);  // strides that nothing reads
}

TEST(overlap, eight_dimensions) {
  layout even{0, 4, {}, {}};
  for (int dimension = 0; dimension < max_compared_rank; ++dimension) {
    even.extents.push_back(3);
    even.strides.push_back((dimension % 2 ? -2 : 2) * (std::int64_t(1) << (2 * dimension)));
    if (dimension % 2) even.address += static_cast<std::uintptr_t>(-4 * 2 * even.strides.back());
  }
  layout odd = even;
  odd.address += 4;
  EXPECT_EQ(shared(even, odd), overlap::none);
  EXPECT_EQ(repeated(even), overlap::none);
  odd.address += 4;
  int nodes = 0;
  EXPECT_EQ(shared_bytes(even.get(), odd.get(), &nodes), overlap::some);
  EXPECT_LE(nodes, 2 * max_compared_rank);
}

TEST(overlap, the_largest_arrays) {
  EXPECT_EQ(shared({0, 1, {huge}, {1}}, {static_cast<std::uintptr_t>(huge), 1, {huge}, {1}}), overlap::none);
  EXPECT_EQ(shared({0, 1, {huge}, {1}}, {static_cast<std::uintptr_t>(huge) - 1, 1, {huge}, {1}}), overlap::some);
  EXPECT_EQ(shared({0, 1, {huge / 2}, {2}}, {1, 1, {huge / 2}, {2}}), overlap::none);
  EXPECT_EQ(shared({0, 8, {huge}, {0}}, {8, 8, {huge / 8}, {1}}), overlap::none);
  const layout last{~std::uintptr_t(0), 1, {huge}, {-1}};
  EXPECT_EQ(shared(last, {~std::uintptr_t(0) - 99, 1, {100}, {1}}), overlap::some);
  EXPECT_EQ(shared(last, {0, 1, {huge}, {1}}), overlap::none);
  EXPECT_EQ(repeated(last), overlap::none);
  EXPECT_EQ(repeated({0, 1, {2, huge / 2}, {huge / 2, 1}}), overlap::none);
  EXPECT_EQ(repeated({0, 1, {2, huge / 2}, {huge / 2 - 1, 1}}), overlap::some);
}

TEST(overlap, arrays_that_no_memory_holds_are_unknown) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const layout one{0, 1, {}, {}};
  EXPECT_EQ(shared({0, 8, {huge}, {1}}, one), overlap::unknown);
  EXPECT_EQ(shared({0, 1, {2}, {least}}, one), overlap::unknown);
  EXPECT_EQ(shared({0, 1, {2, 2}, {least, least}}, one), overlap::unknown);
  EXPECT_EQ(shared({0, 1, {huge, huge, huge}, {huge, -huge, 3}}, one), overlap::unknown);
  EXPECT_EQ(shared({0, 1, {huge + 1}, {1}}, one), overlap::unknown);
  EXPECT_EQ(repeated({0, 8, {huge, 2}, {1, 1}}), overlap::unknown);
  // Products that are 0 modulo 2^64.
  constexpr std::int64_t half = std::int64_t(1) << 32;
  EXPECT_EQ(shared({1, 1, {half + 1}, {half}}, one), overlap::unknown);
  EXPECT_EQ(repeated({0, 1, {2, half + 1}, {1, half}}), overlap::unknown);
}

TEST(overlap, the_search_has_a_limit) {
  // 12223 x + 12224 y + 36674 z + 61119 v + 85569 w = 89643481 has no solution with x, y, z, v, w >= 0, which is hard
  // to prove (Cornuejols, Urbaniak, Weismantel, Wolsey, "Decomposition of integer programs and of generating sets",
  // ESA 1997).
  const layout first{0, 1, {1049, 1049, 1049}, {36674, 61119, 85569}};
  const std::int64_t last = 89643481 - 12223 * 1048 - 12224 * 1048;
  const layout second{static_cast<std::uintptr_t>(last), 1, {1049, 1049}, {12223, 12224}};
  const layout hard_to_repeat{0, 4, {20, 20, 20, 20}, {1000003, 1414213, 1732051, 2236067}};
  int nodes = 0;
  EXPECT_EQ(shared_bytes(first.get(), second.get(), &nodes), overlap::unknown);
  EXPECT_EQ(nodes, overlap_search_limit);
  EXPECT_EQ(repeated_elements(hard_to_repeat.get(), &nodes), overlap::unknown);
  EXPECT_EQ(nodes, overlap_search_limit);
}

}  // namespace
}  // namespace prumo::detail
