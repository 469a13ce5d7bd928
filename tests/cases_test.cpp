// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One test for all operations: every enabled space, operation, type, layout and implementation, over shapes with every
// kind of edge, held against the operation's reference and its analysed bound.

#include "generated_tests.hpp"
#include "own_instance.hpp"
#include "registered_cases.hpp"
#include <prumo/case/prepared_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/error.hpp>
#include <prumo/machine/recorded_calls.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <string>

namespace prumo::cases {
namespace {

/// Extents with every kind of edge: nothing, one, around the lanes of a vector, around blocks and chunks.
constexpr std::int64_t interesting_extents[] = {0, 1, 2, 3, 5, 16, 31, 33, 64, 65, 127, 200, 257, 1000};
/// For an operation of a single axis also around blocks, segments and chunks.
constexpr std::int64_t long_extents[] = {4095, 4096, 4097, 16384, 16385, 50001};

/// Shapes to try an operation with: a walk through the extents that meets each extent on each axis, at different
/// places of the others.
std::vector<shape> shapes_of(const case_info& info) {
  std::vector<shape> shapes;
  // Four axes that are all long multiply to more than a reference checks in time: up to 127, and around one block.
  const bool has_many_axes = info.axes.size() > 3;
  const std::size_t count = std::size(interesting_extents) - (has_many_axes ? 3 : 0);
  for (std::size_t step = 0; step < 2 * count; ++step) {
    shape extents;
    for (std::size_t axis = 0; axis < info.axes.size(); ++axis) {
      extents.set(info.axes[axis].name,
                  interesting_extents[(step * (2 * axis + 1) + 3 * axis * (step / count + 1)) % count]);
    }
    shapes.push_back(extents);
    if (info.axes.size() == 1 && step + 1 == count) break;
  }
  // One axis long, the others short.
  for (const axis& longest : info.axes) {
    for (const std::int64_t extent : long_extents) {
      if (has_many_axes && extent > 5000) break;
      shape extents;
      for (const axis& each : info.axes) extents.set(each.name, each.name == longest.name ? extent : 3);
      shapes.push_back(extents);
    }
  }
  return shapes;
}

/// Parameter sets: the defaults, and for each parameter a few others that take other paths.
std::vector<parameters> parameters_of(const case_info& info, dtype type, array_layout layout) {
  parameters defaults;
  for (const parameter& each : info.values) defaults.set(each.name, each.fallback_of(type, layout));
  std::vector<parameters> sets{defaults};
  for (const parameter& each : info.values) {
    const std::vector<double> usual{0, 1, -0.75};
    for (const double value : each.test_values.empty() ? usual : each.test_values) {
      if (each.name.starts_with("trans") && value < 0) continue;
      parameters changed = defaults;
      changed.set(each.name, value);
      if (!(changed == defaults)) sets.push_back(changed);
    }
  }
  return sets;
}

specification base_choice(const case_info& info, dtype type, array_layout layout = array_layout::right) {
  specification choice;
  choice.op = info.op;
  choice.type = type;
  choice.layout = layout;
  choice.values = parameters_of(info, type, layout).front();
  choice.implementation = info.implementations.front();
  choice.compute_mode = info.compute_modes.front();
  choice.seed = 20261121;
  return choice;
}

template <class Exec>
void expect_verified(context<Exec>& ctx, const operation_case<Exec>& operation, const specification& choice) {
  if (!operation.why_unsupported(choice).empty()) return;
  prepared_case<Exec> prepared(ctx, operation, choice, 1);
  const check_result result = prepared.verify(1e12);
  EXPECT_TRUE(result.verified) << describe(choice) << ": error " << result.error << " of a bound of "
                               << result.error_bound << "; " << result.message;
}

/// Results of one operation, type and layout.
template <class Exec>
class results_test : public testing::Test {
 public:
  results_test(const operation_case<Exec>* operation, dtype type, array_layout layout)
      : operation_(operation), type_(type), layout_(layout) {}

  void TestBody() override {
    const case_info info = operation_->info();
    context<Exec> ctx;
    specification choice = base_choice(info, type_, layout_);
    for (const std::string& mode : info.compute_modes) {
      choice.compute_mode = mode;
      for (const std::string& implementation : info.implementations) {
        choice.implementation = implementation;
        run_shapes(ctx, info, choice);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

 private:
  void run_shapes(context<Exec>& ctx, const case_info& info, specification choice) {
    for (const parameters& values : parameters_of(info, type_, layout_)) {
      choice.values = values;
      for (const shape& extents : shapes_of(info)) {
        choice.shape = extents;
        expect_verified(ctx, *operation_, choice);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

  const operation_case<Exec>* operation_;
  dtype type_;
  array_layout layout_;
};

/// Calls that were recorded in a graph give the same results when they are replayed: nothing in them depends on the
/// host running along.
template <class Exec>
class recorded_test : public testing::Test {
 public:
  explicit recorded_test(const operation_case<Exec>* operation) : operation_(operation) {}

  void TestBody() override {
    const case_info info = operation_->info();
    const Exec instance = tests::make_own_instance<Exec>();
    for (const std::string& implementation : info.implementations) {
      for (const shape& extents : shapes_of(info)) {
        context<Exec> ctx(instance);
        specification choice = base_choice(info, info.types.front());
        choice.implementation = implementation;
        choice.shape = extents;
        if (!operation_->why_unsupported(choice).empty()) continue;
        prepared_case<Exec> prepared(ctx, *operation_, choice, 1);
        prepared.run(0);  // workspaces and handles are made at the first call
        ctx.fence();
        const auto recorded = machine::record_calls(instance, [&] { prepared.run(0); });
        ASSERT_NE(recorded, nullptr);
        const check_result result = prepared.verify(1e12, [&] { recorded->replay(); });
        ASSERT_TRUE(result.verified) << describe(choice) << ": error " << result.error << " of a bound of "
                                     << result.error_bound << "; " << result.message;
      }
    }
  }

 private:
  const operation_case<Exec>* operation_;
};

/// The kernel's own count against the closed form, at several shapes.
template <class Exec>
class counts_test : public testing::Test {
 public:
  explicit counts_test(const operation_case<Exec>* operation) : operation_(operation) {}

  void TestBody() override {
    const case_info info = operation_->info();
    if (!operation_->countable()) GTEST_SKIP() << info.op << " has no count";
    int compared = 0;
    for (const dtype type : {dtype::f32, dtype::f64}) {
      for (const parameters& values : parameters_of(info, type, array_layout::right)) {
        for (const shape& extents : shapes_of(info)) {
          specification choice = base_choice(info, type);
          choice.values = values;
          choice.shape = extents;
          if (operation_->model(type, extents, values).flops > 2e6) continue;
          const flop_counts kernel = operation_->count_kernel(choice);
          const flop_counts closed_form = operation_->count_closed_form(choice);
          for (std::size_t kind = 0; kind < flop_kind_count; ++kind) {
            ASSERT_EQ(kernel.tally[kind], closed_form.tally[kind])
                << describe(choice) << ": " << flop_kind_name(static_cast<flop_kind>(kind));
          }
          ++compared;
        }
      }
    }
    EXPECT_GE(compared, 3);
  }

 private:
  const operation_case<Exec>* operation_;
};

/// Large and cold cases run on copies of the data: each copy holds the same.
template <class Exec>
class streaming_test : public testing::Test {
 public:
  explicit streaming_test(const operation_case<Exec>* operation) : operation_(operation) {}

  void TestBody() override {
    const case_info info = operation_->info();
    context<Exec> ctx;
    // As if the caller's working set were past any cache: outputs are streamed, at every alignment of odd extents.
    ctx.set_working_set(std::size_t{1} << 40);
    for (const dtype type : info.types) {
      for (const shape& extents : shapes_of(info)) {
        specification choice = base_choice(info, type);
        choice.shape = extents;
        expect_verified(ctx, *operation_, choice);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

 private:
  const operation_case<Exec>* operation_;
};

template <class Test, class... Arguments>
void add_test(const std::string& suite, const std::string& name, Arguments... arguments) {
  testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [=]() -> testing::Test* { return new Test(arguments...); });
}

template <class Exec>
void add_tests_of_space() {
  const std::string space = Exec::name();
  for (const auto& operation : registries().of<Exec>().all()) {
    const case_info info = operation->info();
    for (const dtype type : info.types) {
      for (const array_layout layout : info.layouts) {
        add_test<results_test<Exec>>(
            space + "." + info.op, "results_" + std::string(dtype_name(type)) + "_" + std::string(layout_name(layout)),
            operation.get(), type, layout);
      }
    }
    add_test<counts_test<Exec>>(space + "." + info.op, "counts", operation.get());
    add_test<streaming_test<Exec>>(space + "." + info.op, "streaming", operation.get());
    if constexpr (!is_host_space<Exec>) {
      add_test<recorded_test<Exec>>(space + "." + info.op, "recorded", operation.get());
    }
  }
}

void add_tests() {
#define PRUMO_ADD_TESTS(Space) add_tests_of_space<Space>();
  PRUMO_FOR_EACH_SPACE(PRUMO_ADD_TESTS)
#undef PRUMO_ADD_TESTS
}

[[maybe_unused]] const bool added = (tests::generators().push_back(add_tests), true);

}  // namespace
}  // namespace prumo::cases
