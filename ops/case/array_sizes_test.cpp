// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arrays of an operation have about the size that a user asks for.

#include <prumo/case/registry.hpp>
#include <prumo/case/test_choices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

void prumo_register_tested_cases(prumo::cases::case_registries& registries);

namespace prumo::cases {
namespace {

template <class Exec>
void expect_arrays_of_that_size(const case_registries& registries) {
  constexpr std::int64_t asked = 64 << 20;
  for (const auto& operation : registries.of<Exec>().all()) {
    const case_info info = operation->info();
    if (info.is_probe) continue;
    for (const dtype type : info.types) {
      specification choice = default_choice(info, type, array_layout::right);
      choice.shape = operation->resolve(type, asked, {});
      std::int64_t largest = 0;
      for (const array_specification& array : operation->arrays(choice.shape, choice.values)) {
        auto bytes = static_cast<std::int64_t>(element_bytes(array, type));
        for (const std::int64_t extent : array.extents) bytes *= extent;
        largest = std::max(largest, bytes);
      }
      // A convolution may have more results than pixels, and a cast results of eight bytes for elements of two.
      EXPECT_GE(largest, asked / 2) << label_of(choice);
      EXPECT_LE(largest, asked * 8) << label_of(choice);
    }
  }
}

TEST(array_sizes, are_about_what_is_asked_for) {
  case_registries registries;
  prumo_register_tested_cases(registries);
#define PRUMO_TEST_ARRAY_SIZES(Space) expect_arrays_of_that_size<Space>(registries);
  PRUMO_FOR_EACH_SPACE(PRUMO_TEST_ARRAY_SIZES)
#undef PRUMO_TEST_ARRAY_SIZES
}

}  // namespace
}  // namespace prumo::cases
