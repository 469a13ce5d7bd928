// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What operations promise their callers, for every registered case: kernels on the caller's instance only,
// each with a label of prumo's, no fence, and no allocation once a context is warm.

#include "generated_tests.hpp"
#include "kokkos_events.hpp"
#include "own_instance.hpp"
#include "registered_cases.hpp"
#include <prumo/case/prepared_case.hpp>
#include <prumo/case/registry.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace prumo::cases {
namespace {

using tests::kokkos_event;
using tests::kokkos_events;

/// The parameters' fallbacks, and everything 1: other signs and scalings, both operands transposed.
std::vector<parameters> parameters_of(const case_info& info) {
  parameters fallbacks;
  parameters ones;
  for (const parameter& each : info.values) {
    fallbacks.set(each.name, each.fallback);
    ones.set(each.name, 1);
  }
  return fallbacks == ones ? std::vector{fallbacks} : std::vector{fallbacks, ones};
}

template <class Exec>
void expect_own_kernels(const kokkos_events& events, const Exec& instance) {
  for (const kokkos_event& kernel : events.kernels) {
    EXPECT_TRUE(kernel.label.starts_with("prumo::")) << "a kernel is labelled '" << kernel.label << "'";
    EXPECT_EQ(kernel.device_id, Kokkos::Tools::Experimental::device_id(instance))
        << kernel.label << " runs on another instance than the caller's";
  }
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>) {
    for (const unsigned threads : events.openmp_threads) {
      EXPECT_EQ(threads, static_cast<unsigned>(concurrency_of(instance))) << "a parallel region has not the threads of "
                                                                             "the caller's instance";
    }
  }
#endif
}

void expect_nothing_hidden(const kokkos_events& events) {
  for (const kokkos_event& fence : events.fences) ADD_FAILURE() << "it fences: '" << fence.label << "'";
  for (const std::string& label : events.allocations) ADD_FAILURE() << "it allocates '" << label << "' though warm";
  for (const std::string& label : events.deallocations) ADD_FAILURE() << "it frees '" << label << "' though warm";
  for (const std::string& labels : events.deep_copies) ADD_FAILURE() << "it calls deep_copy: " << labels;
}

/// Whether a kernel, or a region where a vendor library computes, tells the path that was taken.
bool tells_its_path(const kokkos_events& events) {
  const auto is_ours = [](const std::string& label) { return label.starts_with("prumo::"); };
  return !events.kernels.empty() || std::ranges::any_of(events.regions, is_ours);
}

template <class Exec>
void expect_well_behaved(const operation_case<Exec>& operation, const specification& choice) {
  SCOPED_TRACE(label_of(choice));
  const Exec instance = tests::make_own_instance<Exec>();
  context<Exec> ctx(instance);
  prepared_case<Exec> prepared(ctx, operation, choice, 1);

  const kokkos_events cold = tests::events_of([&] { prepared.run(0); });
  expect_own_kernels(cold, instance);
  for (const std::string& label : cold.allocations) {
    // A team kernel makes Kokkos allocate the instance's scratch, once.
    EXPECT_TRUE(label.starts_with("prumo::") || label.starts_with("Kokkos::"))
        << "an allocation is labelled '" << label << "'";
  }

  const kokkos_events warm = tests::events_of([&] { prepared.run(0); });
  expect_own_kernels(warm, instance);
  expect_nothing_hidden(warm);
  EXPECT_TRUE(tells_its_path(warm)) << "neither a kernel nor a region of prumo's was seen";
  EXPECT_TRUE(Kokkos::is_initialized() && !Kokkos::is_finalized());
  ctx.fence();
}

template <class Exec>
class promises_test : public testing::Test {
 public:
  explicit promises_test(const operation_case<Exec>* operation) : operation_(operation) {}

  void TestBody() override {
    const case_info info = operation_->info();
    specification choice;
    choice.op = info.op;
    choice.compute_mode = info.compute_modes.front();
    for (const dtype type : info.types) {
      for (const array_layout layout : info.layouts) {
        for (const std::string& implementation : info.implementations) {
          choice.type = type;
          choice.layout = layout;
          choice.implementation = implementation;
          run_shapes(info, choice);
        }
      }
    }
  }

 private:
  /// One array of a few elements, and one that needs several blocks, segments and the workspace.
  void run_shapes(const case_info& info, specification choice) {
    constexpr std::int64_t few_bytes = 256;
    constexpr std::int64_t many_bytes = std::int64_t{1} << 18;
    for (const parameters& values : parameters_of(info)) {
      choice.values = values;
      for (const std::int64_t bytes : {few_bytes, many_bytes}) {
        choice.shape = operation_->resolve(choice.type, bytes, {});
        if (!operation_->why_invalid(choice).empty() || !operation_->why_unsupported(choice).empty()) continue;
        expect_well_behaved(*operation_, choice);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

  const operation_case<Exec>* operation_;
};

template <class Exec>
void add_tests_for_space() {
  for (const auto& operation : registries().of<Exec>().all()) {
    testing::RegisterTest("promises", (std::string(Exec::name()) + "_" + operation->info().op).c_str(), nullptr,
                          nullptr, __FILE__, __LINE__,
                          [&operation]() -> testing::Test* { return new promises_test<Exec>(operation.get()); });
  }
}

void add_tests() {
#define PRUMO_ADD_TESTS(Space) add_tests_for_space<Space>();
  PRUMO_FOR_EACH_SPACE(PRUMO_ADD_TESTS)
#undef PRUMO_ADD_TESTS
}

const bool registered = (tests::generators().push_back(add_tests), true);

// The tests above would pass if nothing were seen.

struct nothing_kernel {
  KOKKOS_FUNCTION void operator()(int) const {}
};

TEST(recorder, sees_kernels_fences_and_memory) {
  using exec = Kokkos::DefaultExecutionSpace;
  const exec instance = tests::make_own_instance<exec>();
  const kokkos_events events = tests::events_of([&] {
    const Kokkos::View<float*, exec> memory(Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "memory"), 10);
    Kokkos::parallel_for("kernel", Kokkos::RangePolicy<exec>(instance, 0, 1), nothing_kernel{});
    instance.fence("fence");
  });
  ASSERT_EQ(events.kernels.size(), 1u);
  EXPECT_EQ(events.kernels[0].label, "kernel");
  EXPECT_EQ(events.kernels[0].device_id, Kokkos::Tools::Experimental::device_id(instance));
  EXPECT_EQ(events.allocations, std::vector<std::string>{"memory"});
  EXPECT_EQ(events.deallocations, std::vector<std::string>{"memory"});
  EXPECT_TRUE(std::ranges::any_of(events.fences, [](const kokkos_event& fence) { return fence.label == "fence"; }));
}

TEST(recorder, tells_instances_apart) {
  using exec = Kokkos::DefaultExecutionSpace;
  const exec other = tests::make_own_instance<exec>();
  const auto events_on = [](const exec& instance) {
    return tests::events_of(
        [&] { Kokkos::parallel_for("kernel", Kokkos::RangePolicy<exec>(instance, 0, 1), nothing_kernel{}); });
  };
  const kokkos_events on_default = events_on(exec());
  const kokkos_events on_other = events_on(other);
  if (on_default.kernels[0].device_id == on_other.kernels[0].device_id && on_default.openmp_threads.empty()) {
    GTEST_SKIP() << "instances of " << exec::name() << " cannot be told apart from outside";
  }
  EXPECT_TRUE(on_default.kernels[0].device_id != on_other.kernels[0].device_id ||
              on_default.openmp_threads != on_other.openmp_threads);
}

}  // namespace
}  // namespace prumo::cases
