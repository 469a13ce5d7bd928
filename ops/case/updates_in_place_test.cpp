// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that read what they write: optimizers, sums that are added to. Their verification knows the result of one
// call, whatever calls before it have made of the arrays, and holds for any numbers.

#include <prumo/case/prepared_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/test_choices.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

void prumo_register_tested_cases(prumo::cases::case_registries& registries);

namespace prumo::cases {
namespace {

constexpr std::int64_t bytes_of_an_array = 64 << 10;

/// Calls function(operation, choice) for every such operation of a space, in every type.
template <class Exec, class Function>
void for_each_update(const case_registries& registries, const Function& function) {
  for (const auto& operation : registries.of<Exec>().all()) {
    const case_info info = operation->info();
    for (const dtype type : info.types) {
      specification choice = default_choice(info, type, array_layout::right);
      choice.shape = operation->resolve(type, bytes_of_an_array, {});
      const auto arrays = operation->arrays(choice.shape, choice.values);
      const bool updates = std::ranges::any_of(
          arrays, [](const array_specification& it) { return it.role == array_role::input_output; });
      if (updates && operation->why_unsupported(choice).empty()) function(*operation, choice);
    }
  }
}

template <class Exec>
void verify_after_many_calls(const case_registries& registries) {
  int found = 0;
  for_each_update<Exec>(registries, [&](const operation_case<Exec>& operation, const specification& choice) {
    context<Exec> ctx;
    prepared_case<Exec> prepared(ctx, operation, choice, 1);
    for (int round = 0; round < 3; ++round) {
      for (int call = 0; call < 100; ++call) prepared.run(0);
      const check_result result = prepared.verify(1e9);
      EXPECT_TRUE(result.verified) << label_of(choice) << ": " << result.message;
    }
    ++found;
  });
  EXPECT_GT(found, 0);
}

/// Sums of some elements cancel. Then the result is far smaller than what a reference rounds on its way to it.
template <class Exec>
void verify_many_numbers(const case_registries& registries) {
  for_each_update<Exec>(registries, [&](const operation_case<Exec>& operation, specification choice) {
    for (choice.seed = 1; choice.seed <= 8; ++choice.seed) {
      context<Exec> ctx;
      const check_result result = prepared_case<Exec>(ctx, operation, choice, 1).verify(1e9);
      EXPECT_TRUE(result.verified) << label_of(choice) << ", seed " << choice.seed << ": " << result.message;
    }
  });
}

class updates_in_place : public testing::Test {
 protected:
  updates_in_place() { prumo_register_tested_cases(registries_); }
  case_registries registries_;
};

#define PRUMO_TEST_AFTER_MANY_CALLS(Space) verify_after_many_calls<Space>(registries_);
TEST_F(updates_in_place, are_verified_whatever_was_called_before){PRUMO_FOR_EACH_SPACE(PRUMO_TEST_AFTER_MANY_CALLS)}
#define PRUMO_TEST_MANY_NUMBERS(Space) verify_many_numbers<Space>(registries_);
TEST_F(updates_in_place, are_verified_where_sums_cancel) {
  PRUMO_FOR_EACH_SPACE(PRUMO_TEST_MANY_NUMBERS)
}

}  // namespace
}  // namespace prumo::cases
