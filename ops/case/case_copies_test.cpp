// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of a case, small ones in one allocation and large ones in their own.

#include <prumo/case/prepared_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/test_choices.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

void prumo_register_tested_cases(prumo::cases::case_registries& registries);

namespace prumo::cases {
namespace {

using bytes = std::vector<unsigned char>;

template <class Exec>
bytes contents(const prepared_case<Exec>& prepared, std::size_t copy, std::size_t which) {
  const auto memory = prepared.memory_of(copy, which);
  bytes result(memory.bytes);
  const Kokkos::View<unsigned char*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> to(result.data(),
                                                                                                    result.size());
  Kokkos::deep_copy(
      to, Kokkos::View<const unsigned char*, typename Exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
              static_cast<const unsigned char*>(memory.data), memory.bytes));
  return result;
}

/// All copies begin alike, a call changes its own copy alone, and each of them can be verified.
template <class Exec>
void expect_calls_on_their_own_copy(const operation_case<Exec>& operation, const specification& choice,
                                    std::size_t copies) {
  SCOPED_TRACE(label_of(choice) + ", " + std::to_string(copies) + " copies");
  context<Exec> ctx;
  prepared_case<Exec> prepared(ctx, operation, choice, copies);
  const std::size_t called = copies / 2, last = copies - 1;
  ASSERT_EQ(prepared.copies(), copies);
  for (std::size_t which = 0; which < prepared.array_count(); ++which) {
    EXPECT_EQ(contents(prepared, 0, which), contents(prepared, last, which)) << "array " << which;
  }
  prepared.run(called);
  Kokkos::fence();
  bool has_changed = false;
  for (std::size_t which = 0; which < prepared.array_count(); ++which) {
    const bytes before = contents(prepared, 0, which);
    has_changed = has_changed || contents(prepared, called, which) != before;
    for (std::size_t copy = 1; copy < copies; ++copy) {
      if (copy == called) continue;
      EXPECT_EQ(contents(prepared, copy, which), before) << "copy " << copy << ", array " << which;
    }
  }
  EXPECT_TRUE(has_changed);
  for (const std::size_t copy : {std::size_t{0}, called, last}) {
    const check_result found = prepared.verify(1e9, {}, nullptr, copy);
    EXPECT_TRUE(found.verified) << "copy " << copy << ": " << found.message;
  }
}

template <class Exec, class Function>
void for_each_copied_choice(const Function& function) {
  case_registries registries;
  prumo_register_tested_cases(registries);
  const std::set<std::string> wanted = {"add", "gather_rows", "gemm", "batched_gemm", "softmax", "dense"};
  int found = 0;
  for (const auto& operation : registries.of<Exec>().all()) {
    const case_info info = operation->info();
    if (!wanted.contains(info.op)) continue;
    ++found;
    for (const array_layout layout : {array_layout::right, array_layout::strided}) {
      specification choice = default_choice(info, dtype::f32, layout);
      if (choice.values.contains("bias")) choice.values.set("bias", 1);
      function(*operation, choice);
    }
  }
  EXPECT_EQ(found, 6);
}

template <class Exec>
void call_small_and_large_copies() {
  for_each_copied_choice<Exec>([](const operation_case<Exec>& operation, specification choice) {
    choice.shape = operation.resolve(choice.type, 1000, {});
    expect_calls_on_their_own_copy(operation, choice, 7);
    expect_calls_on_their_own_copy(operation, choice, 2);
    choice.shape = operation.resolve(choice.type, 900 << 10, {});
    expect_calls_on_their_own_copy(operation, choice, 3);
  });
}

/// A line of a cache that holds the end of one array holds nothing of another one, and the next line neither.
template <class Exec>
void lay_arrays_apart() {
  for_each_copied_choice<Exec>([](const operation_case<Exec>& operation, specification choice) {
    choice.shape = operation.resolve(choice.type, 100, {});
    context<Exec> ctx;
    const prepared_case<Exec> prepared(ctx, operation, choice, 50);
    std::size_t end = 0, first = 0, arrays = 0;
    for (std::size_t copy = 0; copy < 50; ++copy) {
      for (std::size_t which = 0; which < prepared.array_count(); ++which) {
        const auto memory = prepared.memory_of(copy, which);
        const auto begin = reinterpret_cast<std::uintptr_t>(memory.data);
        EXPECT_EQ(begin % 64, 0u);
        if (arrays++ == 0) {
          first = begin;
        } else {
          EXPECT_GE(begin, end + (is_host_space<Exec> ? 128 : 0)) << label_of(choice);
        }
        end = begin + memory.bytes;
      }
    }
    EXPECT_LE(end - first,
              prepared_case<Exec>::allocated_bytes(operation.arrays(choice.shape, choice.values), choice, 50));
  });
}

TEST(copies_of_cases, are_called_and_verified_one_by_one) {
#define PRUMO_CALL_COPIES(Space) call_small_and_large_copies<Space>();
  PRUMO_FOR_EACH_SPACE(PRUMO_CALL_COPIES)
#undef PRUMO_CALL_COPIES
}

TEST(copies_of_cases, have_lines_of_a_cache_to_themselves) {
#define PRUMO_LAY_APART(Space) lay_arrays_apart<Space>();
  PRUMO_FOR_EACH_SPACE(PRUMO_LAY_APART)
#undef PRUMO_LAY_APART
}

TEST(touched_bytes, are_whole_lines_of_each_array) {
  const std::vector<array_specification> arrays = {{"x", array_role::input, {10}}, {"y", array_role::output, {17}}};
  EXPECT_EQ(footprint_bytes(arrays, dtype::f32, array_layout::right), 108u);
  EXPECT_EQ(touched_bytes(arrays, dtype::f32, array_layout::right), 64u + 128u);
}

}  // namespace
}  // namespace prumo::cases
