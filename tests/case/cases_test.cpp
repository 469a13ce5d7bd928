// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One test for all operations: every enabled space, operation, type, layout and implementation, over shapes with every
// kind of edge, held against the operation's reference and its analysed bound.

#include "generated_tests.hpp"
#include "own_instance.hpp"
#include <prumo/backend/recorded_calls.hpp>
#include <prumo/case/count_proof.hpp>
#include <prumo/case/prepared_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/test_choices.hpp>
#include <prumo/error.hpp>

#include <gtest/gtest.h>

#include <string>

/// Registers the operations that this program tests; prumo_add_case_test() writes it.
void prumo_register_tested_cases(prumo::cases::case_registries& registries);

namespace prumo::cases {
namespace {

const case_registries& tested_cases() {
  static const case_registries all = [] {
    case_registries registries;
    prumo_register_tested_cases(registries);
    return registries;
  }();
  return all;
}

specification base_choice(const case_info& info, dtype type, array_layout layout = array_layout::right) {
  specification choice = default_choice(info, type, layout);
  choice.seed = 20261121;
  return choice;
}

void expect_verified(const check_result& result, const specification& choice) {
  EXPECT_TRUE(result.verified) << label_of(choice) << ": error " << result.error << " of a bound of "
                               << result.error_bound << "; " << result.message;
}

/// The operation itself refuses what its case says that it cannot do.
template <class Exec>
void expect_refused(prepared_case<Exec>& prepared, const std::string& reason) {
  try {
    prepared.run(0);
    prepared.owner().fence();
    ADD_FAILURE() << label_of(prepared.choice()) << ": the operation accepts it, and its case says: " << reason;
  } catch (const error& refusal) {
    EXPECT_STRNE(refusal.what(), "") << label_of(prepared.choice());
  }
}

/// Why the operation is to refuse the choice, or an empty string.
template <class Exec>
std::string why_refused(const operation_case<Exec>& operation, const specification& choice) {
  const std::string invalid = operation.why_invalid(choice);
  return invalid.empty() ? operation.why_unsupported(choice) : invalid;
}

template <class Exec>
void expect_verified_or_refused(prepared_case<Exec>& prepared, const operation_case<Exec>& operation,
                                kept_reference* kept = nullptr) {
  const std::string reason = why_refused(operation, prepared.choice());
  if (reason.empty()) {
    expect_verified(prepared.verify(1e12, {}, kept), prepared.choice());
  } else {
    expect_refused(prepared, reason);
  }
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
    // Shapes come first: what a context finds out about a shape, which takes long for some libraries, serves all
    // values.
    for (const shape& extents : test_shapes(info)) {
      choice.shape = extents;
      for (const parameters& values : test_parameters(info, type_, layout_)) {
        choice.values = values;
        run_on_same_arrays(ctx, info, choice);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

 private:
  void run_on_same_arrays(context<Exec>& ctx, const case_info& info, const specification& choice) {
    prepared_case<Exec> prepared(ctx, *operation_, choice, 1);
    for (const std::string& mode : info.compute_modes) {
      kept_reference kept;
      for (const std::string& implementation : info.implementations) {
        prepared.choose(implementation, mode);
        expect_verified_or_refused(prepared, *operation_,
                                   operation_->has_reference_for_each_implementation() ? nullptr : &kept);
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
      for (const shape& extents : test_shapes(info)) {
        context<Exec> ctx(instance);
        specification choice = base_choice(info, info.types.front());
        choice.implementation = implementation;
        choice.shape = extents;
        if (!why_refused(*operation_, choice).empty()) continue;
        prepared_case<Exec> prepared(ctx, *operation_, choice, 1);
        prepared.run(0);  // workspaces and handles are made at the first call
        ctx.fence();
        const auto recorded = backend::record_calls(instance, [&] { prepared.run(0); });
        ASSERT_NE(recorded, nullptr);
        expect_verified(prepared.verify(1e12, [&] { recorded->replay(); }), choice);
        if (testing::Test::HasFailure()) return;
      }
    }
  }

 private:
  const operation_case<Exec>* operation_;
};

/// The kernel's own count against the closed form, at several shapes, and the proof that workers make of it.
template <class Exec>
class counts_test : public testing::Test {
 public:
  explicit counts_test(const operation_case<Exec>* operation) : operation_(operation) {}

  void TestBody() override {
    const case_info info = operation_->info();
    if (!operation_->countable()) GTEST_SKIP() << info.op << " has no count";
    int compared = 0;
    for (const dtype type : {dtype::f32, dtype::f64}) {
      for (const parameters& values : test_parameters(info, type, array_layout::right)) {
        specification choice = base_choice(info, type);
        choice.values = values;
        ASSERT_NO_THROW(prove_closed_form(*operation_, choice)) << label_of(choice);
        for (const shape& extents : test_shapes(info)) {
          choice.shape = extents;
          if (!operation_->why_invalid(choice).empty()) continue;
          if (operation_->model(type, extents, values).flops > 2e6) continue;
          ASSERT_NO_THROW((void)proven_count(*operation_, choice));
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
      for (const shape& extents : test_shapes(info)) {
        specification choice = base_choice(info, type);
        choice.shape = extents;
        prepared_case<Exec> prepared(ctx, *operation_, choice, 1);
        expect_verified_or_refused(prepared, *operation_);
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
  for (const auto& operation : tested_cases().of<Exec>().all()) {
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
