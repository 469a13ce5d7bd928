// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs what a team of the convolution in matrix units does before and between the products, thread by thread, and makes
// the products here. So each layout is held against plain sums without a device.
#include "tensor_inputs.hpp"

#include "tensor_choice.hpp"
#include "tensor_maxima.hpp"
#include "tensor_test_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace prumo::backend {
namespace {

/// Gives all threads the same scratch memory.
class scratch_of_test {
 public:
  explicit scratch_of_test(std::size_t bytes) : memory_(bytes / sizeof(cell) + 2) {
    std::memset(memory_.data(), 0xff, memory_.size() * sizeof(cell));  // NaN
  }
  const scratch_of_test& team_scratch(int) const { return *this; }
  void* get_shmem_aligned(std::size_t, std::size_t) const { return memory_.data(); }

 private:
  struct alignas(16) cell {
    std::byte bytes[16];
  };
  mutable std::vector<cell> memory_;
};

template <class T>
float element_of(std::uint32_t bits) {
  if constexpr (sizeof(T) == 4) {
    return Kokkos::bit_cast<float>(bits);
  } else {
    T element;
    element.bits = static_cast<std::uint16_t>(bits);
    return static_cast<float>(element);
  }
}

/// A team that computes sums from what it has in its scratch memory.
template <class T, int Window>
class team_of_test : tensor_inputs<T, Window> {
  using inputs = tensor_inputs<T, Window>;
  using form = tensor_form<T>;
  using inputs::layout_;
  using inputs::problem_;
  using typename inputs::scratch;

 public:
  /// \param arranged the weights of all parts and slices
  team_of_test(const convolution_problem<T>& problem, const tensor_layout& layout,
               const std::vector<std::uint32_t>& arranged)
      : inputs(problem, layout, arranged.data()),
        team_(static_cast<std::size_t>(layout.scratch_words()) * sizeof(std::uint32_t)),
        memory_(this->scratch_of(team_)) {
    for (int at = 0; at < layout_.staged_words; ++at) memory_.stage[at] = 0;
    for (int at = 0; at < layout_.cells * 4; ++at) memory_.cells[at] = 0;
  }

  /// The sums of the item's places that are there: (image, channel, row, column) of each, and the sum.
  using place = std::tuple<std::int64_t, int, int, int>;
  void compute(const tensor_item& item, int part, std::vector<std::pair<place, double>>& found) {
    const int rows = layout_.part_tiles * tensor_layout::tile_rows;
    std::vector<double> sums(static_cast<std::size_t>(rows) * static_cast<std::size_t>(layout_.places));
    for_each_thread([&](int thread) { this->set_up(memory_, part, thread); });
    for (int slice = 0; slice < layout_.slices; ++slice) {
      for_each_thread([&](int thread) { this->bring(memory_, item, part, slice, 0, thread); });
      for_each_thread([&](int thread) { this->make_cells(memory_, item, thread); });
      for (int row = 0; row < rows; ++row) {
        for (int at = 0; at < layout_.places; ++at) {
          sums[sum_index(row, at)] += product(row, at);
        }
      }
    }
    EXPECT_EQ(*memory_.is_unusual, 0);
    for (int row = 0; row < rows; ++row) {
      const weight_row of_row = weight_row::at(layout_, part * rows + row);
      if (of_row.channel >= problem_.out_channels) continue;
      for (int at = 0; at < layout_.places; ++at) {
        const tensor_target& target = memory_.targets[at];
        const int of_item = target.row() + of_row.stacked, column = target.column() + of_row.stacked_column;
        const int image = at / (layout_.places_of_image(Window)), y_row = item.first_row + of_item;
        const bool is_there = image < item.images && of_item < layout_.band_rows() && y_row < problem_.rows &&
                              column < layout_.band_columns && item.first_column + column < problem_.columns;
        if (!is_there) continue;
        const std::int64_t distance = image * problem_.y.image_stride + target.row() / Window * problem_.y.row_stride +
                                      target.column() / Window * problem_.y.column_stride;
        EXPECT_EQ(target.distance, static_cast<unsigned>(distance) * sizeof(T));
        found.push_back(
            {{item.first_image + image, of_row.channel, y_row, item.first_column + column}, sums[sum_index(row, at)]});
      }
    }
  }

  /// Whether an element of the item is infinite or no number.
  bool finds_unusual_elements(const tensor_item& item) {
    for_each_thread([&](int thread) { this->set_up(memory_, 0, thread); });
    for_each_thread([&](int thread) { this->bring(memory_, item, 0, 0, 0, thread); });
    for_each_thread([&](int thread) { this->make_cells(memory_, item, thread); });
    return *memory_.is_unusual != 0;
  }

 private:
  std::size_t sum_index(int row, int at) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(layout_.places) + static_cast<std::size_t>(at);
  }

  template <class Function>
  static void for_each_thread(const Function& function) {
    for (int thread = 0; thread < tensor_layout::threads; ++thread) function(thread);
  }

  /// The products of a row of weights at a place, as the matrix unit makes them.
  double product(int row, int of_item) const {
    const int tile = row / tensor_layout::tile_rows, of_half = row % 8, upper_row = row % tensor_layout::tile_rows / 8;
    double sum = 0;
    for (int step = 0; step < layout_.steps(); ++step) {
      const std::uint32_t* const weights =
          memory_.weights + (tile * layout_.steps() + step) * tensor_layout::words_of_step;
      for (int cell = 0; cell < 2; ++cell) {
        const int byte = memory_.places[of_item] + memory_.distances[2 * step + cell];
        EXPECT_GE(byte, 0);
        EXPECT_LE(byte + 16, layout_.cells * 16) << "behind the cells";
        if (byte < 0 || byte + 16 > layout_.cells * 16) return std::numeric_limits<double>::quiet_NaN();
        for (int element = 0; element < form::elements_of_cell; ++element) {
          const int word = element / form::elements_of_word, shift = element % form::elements_of_word * 16;
          const std::uint32_t weight = weights[(of_half * 4 + word) * 4 + cell * 2 + upper_row];
          const float of_cell = element_of<T>(memory_.cells[byte / 4 + word] >> shift);
          EXPECT_EQ(of_cell, of_cell) << "no number is met";
          sum += static_cast<double>(element_of<T>(weight >> shift)) * of_cell;
        }
      }
    }
    return sum;
  }

  scratch_of_test team_;
  scratch memory_;
};

template <class T>
std::vector<std::uint32_t> arranged_weights(const convolution_problem<T>& problem, const tensor_layout& layout) {
  // Nothing is read that no kernel has written, which sanitizers see: so the array has these weights and no more.
  std::vector<std::uint32_t> words;
  if (!layout.has_arranged_weights()) return words;
  words.resize(static_cast<std::size_t>(layout.parts) * layout.slices *
               static_cast<std::size_t>(layout.weights_words()));
  const arranging_kernel<T> kernel(problem, layout, words.data());
  EXPECT_EQ(kernel.blocks(), static_cast<std::int64_t>(words.size()));
  for (std::int64_t at = 0; at < kernel.blocks(); ++at) kernel(at);
  return words;
}

/// Each result is computed once, and its sum is that of the convolution. All numbers are small integers, so sums are
/// exact.
template <class T, int Window>
void expect_all_sums(const filter_problem<T>& given, const tensor_layout& layout) {
  const std::vector<std::uint32_t> weights = arranged_weights(given.problem, layout);
  team_of_test<T, Window> team(given.problem, layout, weights);
  std::vector<std::pair<typename team_of_test<T, Window>::place, double>> found;
  const std::int64_t bands = layout.image_bands(given.problem.images);
  for (std::int64_t first = 0; first < bands; first += layout.images) {
    const auto images = static_cast<int>(std::min<std::int64_t>(layout.images, bands - first));
    for (int part = 0; part < layout.parts; ++part) team.compute(tensor_item::at(layout, first, images), part, found);
  }
  std::set<typename team_of_test<T, Window>::place> places;
  for (const auto& [at, sum] : found) {
    EXPECT_TRUE(places.insert(at).second) << "a result is computed twice";
    const auto [image, channel, row, column] = at;
    ASSERT_EQ(sum, static_cast<double>(filter_sum(given.problem, image, channel, row, column)))
        << "image " << image << ", channel " << channel << ", row " << row << ", column " << column;
  }
  const auto& of = given.problem;
  EXPECT_EQ(places.size(), static_cast<std::size_t>(of.images * of.out_channels * of.rows * of.columns));
}

template <class T>
void expect_complete_layout(const filter_extents& given, const team_resources& resources, int& layouts) {
  SCOPED_TRACE(given.described());
  const filter_problem<T> numbers(given);
  const tensor_layout layout = best_tensor_layout(numbers.problem, resources);
  if (layout.images == 0) return;
  ++layouts;
  SCOPED_TRACE("stacked " + std::to_string(layout.stacked_rows) + " x " + std::to_string(layout.stacked_columns) +
               ", slices " + std::to_string(layout.slices) + ", bands " + std::to_string(layout.bands) + " x " +
               std::to_string(layout.column_bands) + ", images " + std::to_string(layout.images) + ", stage " +
               std::to_string(static_cast<int>(layout.stage)));
  EXPECT_LE(std::int64_t{layout.scratch_words()} * 4 + 16, resources.bytes_of_team);
  switch (given.window) {
    case 1: return expect_all_sums<T, 1>(numbers, layout);
    case 2: return expect_all_sums<T, 2>(numbers, layout);
    default: return expect_all_sums<T, 4>(numbers, layout);
  }
}

template <class T>
class tensor_inputs_of : public ::testing::Test {};
using tensor_types = ::testing::Types<float, f16, bf16>;
TYPED_TEST_SUITE(tensor_inputs_of, tensor_types);

TYPED_TEST(tensor_inputs_of, meet_each_weight_and_element_once) {
  std::mt19937 random(20261129);
  const auto draw = [&](int least, int most) {
    return static_cast<std::int64_t>(std::uniform_int_distribution<int>(least, most)(random));
  };
  int layouts = 0;
  for (int which = 0; which < 120; ++which) {
    filter_extents given;
    given.images = draw(1, 4);
    given.in_channels = draw(1, draw(0, 1) == 0 ? 4 : 20);
    given.filter_rows = draw(1, 6);
    given.filter_columns = draw(1, 8);
    given.height = given.filter_rows + draw(0, 14);
    given.width = given.filter_columns + draw(0, 40);
    given.out_channels = draw(1, draw(0, 1) == 0 ? 8 : 70);
    given.row_stride = draw(1, 3);
    given.column_stride = draw(1, 3);
    given.row_padding = std::min<std::int64_t>(draw(0, 2), given.filter_rows - 1);
    given.column_padding = std::min<std::int64_t>(draw(0, 3), given.filter_columns - 1);
    given.gap = draw(0, 3) == 0 ? draw(1, 3) : 0;
    const int windows[] = {1, 1, 2, 4};
    given.window = windows[draw(0, 3)];
    // Small memories are for bands, slices and parts.
    team_resources resources = device_with_matrix_units();
    const std::int64_t kibibytes[] = {227, 100, 40, 24};
    resources.bytes_of_team = kibibytes[draw(0, 3)] * 1024;
    resources.bytes_of_multiprocessor = resources.bytes_of_team + 1024;
    expect_complete_layout<TypeParam>(given, resources, layouts);
    if (this->HasFatalFailure()) return;
  }
  EXPECT_GT(layouts, 100);
}

/// Rows and columns of the convolution behind the last window have no results.
TYPED_TEST(tensor_inputs_of, end_with_the_last_windows) {
  using T = TypeParam;
  filter_extents given;
  given.images = 600;
  given.in_channels = 2;
  given.height = 9;
  given.width = 12;
  given.out_channels = 3;
  given.filter_rows = 3;
  given.filter_columns = 2;
  given.window = 2;
  auto problem = problem_of<T>(given);  // 7 x 11 results
  const tensor_layout layout = best_tensor_layout(problem, device_with_matrix_units());
  ASSERT_EQ(layout.bands, 1);
  ASSERT_EQ(layout.column_bands, 1);
  const auto extents = [&] { return item_extents::of<2>(problem, layout, tensor_item::at(layout, 0, 1)); };
  EXPECT_EQ(extents().rows, 7);
  EXPECT_EQ(extents().columns, 11);
  problem.y_rows = 3;
  problem.y_columns = 5;
  EXPECT_EQ(extents().rows, 6);
  EXPECT_EQ(extents().columns, 10);
  EXPECT_EQ((item_extents::of<2>(problem, layout, {0, 1, 6, 10}).rows), 0);
  EXPECT_EQ((item_extents::of<2>(problem, layout, {0, 1, 8, 12}).columns), 0);
  EXPECT_EQ((item_extents::of<1>(problem_of<T>(filter_extents{.height = 7, .width = 5}), layout, {0, 1, 0, 0}).columns),
            5);
}

TYPED_TEST(tensor_inputs_of, tell_elements_that_are_not_finite) {
  using T = TypeParam;
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto is_unusual = [](float low, float high) {
    unusual_elements<T> unusual;
    if constexpr (sizeof(T) == 4) {
      unusual.look_at(bits_of_element(T(low)));
      unusual.look_at(bits_of_element(T(high)));
    } else {
      unusual.look_at(bits_of_element(T(low)) | bits_of_element(T(high)) << 16);
    }
    return unusual.are_there();
  };
  for (const float usual : {0.0f, -0.0f, 1.0f, -65504.0f, 6e-8f}) {
    EXPECT_FALSE(is_unusual(usual, usual)) << usual;
    for (const float unusual : {infinity, -infinity, nan, -nan}) {
      EXPECT_TRUE(is_unusual(usual, unusual)) << usual << " and " << unusual;
      EXPECT_TRUE(is_unusual(unusual, usual)) << unusual << " and " << usual;
    }
  }
}

TYPED_TEST(tensor_inputs_of, tell_items_with_elements_that_are_not_finite) {
  using T = TypeParam;
  for (const float unusual : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::int64_t width : {20, 21}) {
      filter_extents given;
      given.images = 600;
      given.in_channels = 3;
      given.height = 12;
      given.width = width;
      given.out_channels = 4;
      given.filter_rows = given.filter_columns = 5;
      filter_problem<T> numbers(given);
      const tensor_layout layout = best_tensor_layout(numbers.problem, device_with_matrix_units());
      ASSERT_EQ(layout.bands, 1);
      ASSERT_EQ(layout.column_bands, 1);
      ASSERT_EQ(layout.slices, 1);
      const std::vector<std::uint32_t> weights = arranged_weights(numbers.problem, layout);
      const auto is_found = [&] {
        team_of_test<T, 1> team(numbers.problem, layout, weights);
        return team.finds_unusual_elements(tensor_item::at(layout, 0, 1));
      };
      for (std::size_t at = 0; at < static_cast<std::size_t>(numbers.problem.x.image_stride); at += 7) {
        const T before = numbers.x[at];
        numbers.x[at] = T(unusual);
        EXPECT_TRUE(is_found()) << "element " << at << " of rows of " << width;
        numbers.x[at] = before;
      }
      EXPECT_FALSE(is_found());
    }
  }
}

}  // namespace
}  // namespace prumo::backend
