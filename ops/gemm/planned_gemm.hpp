// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Products through a library that proposes several algorithms for one. The fastest is found by trying them.
///
/// Library is a struct that describes the vendor's library:
///
///     execution_space, plans        plans: handle(), find(key, workspace bytes) -> plan, an attachment of the context
///     f32                           the library's name of the type
///     types_of<T>(mode, why_not)    an optional gemm_library_types
///     workspace_of(ctx)             an object with `data` and `bytes`
///     stream_of(instance), is_captured(instance), make_clock(instance, marks)
///     make_current(instance)        makes the instance's device current for a scope
///     run_otherwise<T>(ctx, form)   the vendor's other library, which can compute every form that this one gets;
///                                   throws unsupported_error if it has no product of T
///
/// A plan has algorithms(), with the library's best one first, run(handle, algorithm, operands, workspace, stream), and
/// `fastest`, an optional place among the algorithms.

#include "gemm_plan.hpp"
#include <prumo/backend/device_clock.hpp>
#include <prumo/error.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace prumo::backend {

/// The number of algorithms that a tuned product chooses from, beside the vendor's other library. For most problems
/// cuBLASLt's heuristic has no more.
inline constexpr int most_tuned_algorithms = 32;

/// A product for the library. If it is `fused`, the library also computes the epilogue.
template <class Library, class T>
class planned_product {
 public:
  using context_type = context<typename Library::execution_space>;

  planned_product(context_type& ctx, const blas_form<T>& form, int most_algorithms, bool fused)
      : ctx_(ctx),
        types_(*Library::template types_of<T>(form.problem.mode, reason_)),
        form_(fused ? without_epilogue(form) : form),
        bias_(fused && form.problem.has_bias ? form.problem.bias.data : nullptr),
        workspace_(Library::workspace_of(ctx)),
        result_(library_result_of(ctx, form_, types_.result, Library::f32)),
        plans_(ctx.template attachment<plans_type>([] { return plans_type(); })),
        plan_(plans_.find(plan_key_of(form_, types_, result_, most_algorithms, fused ? epilogue_of(form) : none),
                          workspace_.bytes)) {}

  auto& plan() { return plan_; }

  template <class Algorithm>
  void run(const Algorithm& algorithm) const {
    const gemm_problem<T>& problem = form_.problem;
    plan_.run(plans_.handle(), algorithm,
              {&problem.alpha, problem.a.data, problem.b.data, result_.beta, result_.data, bias_}, workspace_,
              Library::stream_of(ctx_.instance()));
    complete_product(ctx_, problem, result_.data);
  }

 private:
  using plans_type = typename Library::plans;
  using plan_type = typename Library::plan;
  static constexpr gemm_plan_epilogue none{};

  static blas_form<T> without_epilogue(blas_form<T> form) {
    form.problem.has_bias = false;
    return form;
  }
  static gemm_plan_epilogue epilogue_of(const blas_form<T>& form) {
    return {form.problem.has_bias ? alignment_of(form.problem.bias.data) : 0};
  }

  context_type& ctx_;
  std::string reason_;
  typename Library::types types_;
  blas_form<T> form_;
  const void* bias_;
  const typename Library::workspace& workspace_;
  gemm_library_result<decltype(Library::types::element)> result_;
  plans_type& plans_;
  plan_type& plan_;
};

/// Calls `use(product)`. The product has its epilogue if the library may compute it and proposes algorithms for that,
/// and has no epilogue otherwise.
template <class Library, class T, class Use>
void with_planned_product(context<typename Library::execution_space>& ctx, const blas_form<T>& form,
                          int most_algorithms, const Use& use) {
  if (can_fuse_epilogue(form.problem)) {
    planned_product<Library, T> product(ctx, form, most_algorithms, true);
    if (!product.plan().algorithms().empty()) return use(product);
  }
  planned_product<Library, T> product(ctx, form, most_algorithms, false);
  use(product);
}

/// Memory with C's size and alignment for trials, because with beta they would add to C again and again.
template <class Exec, class T>
Kokkos::View<std::byte*, typename Exec::memory_space> result_for_trials(const Exec& instance,
                                                                        const gemm_problem<T>& problem) {
  const auto& c = problem.c;
  const std::int64_t elements =
      (problem.m - 1) * c.row_stride + (problem.n - 1) * c.column_stride + (problem.batch - 1) * c.batch_stride + 1;
  constexpr std::size_t alignment = 256;
  return Kokkos::View<std::byte*, typename Exec::memory_space>(
      Kokkos::view_alloc(instance, Kokkos::WithoutInitializing, "prumo::gemm::tuning"),
      static_cast<std::size_t>(elements) * sizeof(*c.data) + alignment);
}

/// The seconds of one product: the mean of the best of a few rounds, which together have `times` calls, after
/// `warm_ups` calls that do not count. A round is waited for once, which takes several times as long as a small
/// product. Infinite if the library refuses.
template <class Run>
double seconds_of(device_clock& clock, int warm_ups, int times, const Run& run) {
  double best = std::numeric_limits<double>::infinity();
  try {
    for (int i = 0; i < warm_ups; ++i) run();
    const int rounds = std::min(times, 5);
    const int calls = times / rounds;
    for (int round = 0; round < rounds; ++round) {
      clock.mark(0);
      for (int i = 0; i < calls; ++i) run();
      clock.mark(1);
      best = std::min(best, clock.seconds_between(0, 1) / calls);
    }
  } catch (const backend_error&) {
    return std::numeric_limits<double>::infinity();
  } catch (const unsupported_error&) {
    return std::numeric_limits<double>::infinity();
  }
  return best;
}

/// Which of `count` algorithms takes the least time, measured by `seconds(which, warm_ups, times)`. Each is tried once,
/// and the best few more often. So tuning a product of tenths of a second takes seconds and not a minute.
template <class Seconds>
std::size_t find_fastest(std::size_t count, const Seconds& seconds) {
  struct trial {
    std::size_t which;
    double seconds;
  };
  std::vector<trial> trials;
  for (std::size_t which = 0; which < count; ++which) trials.push_back({which, seconds(which, 1, 1)});
  std::ranges::sort(trials, {}, &trial::seconds);
  constexpr std::size_t finalists = 5;
  constexpr double enough_seconds = 0.2;
  if (trials.size() > finalists) trials.resize(finalists);
  for (trial& it : trials) {
    const int times = static_cast<int>(std::clamp(enough_seconds / finalists / it.seconds, 2.0, 50.0));
    it.seconds = seconds(it.which, 0, times);
  }
  return std::ranges::min_element(trials, {}, &trial::seconds)->which;
}

/// The place of the fastest algorithm. The place after the last algorithm is the vendor's other library.
template <class Library, class T>
std::size_t find_fastest_algorithm(context<typename Library::execution_space>& ctx, const blas_form<T>& given) {
  blas_form<T> form = given;
  Kokkos::View<std::byte*, typename Library::execution_space::memory_space> own_result;
  if (given.problem.beta != 0) {
    own_result = result_for_trials(ctx.instance(), given.problem);
    constexpr std::uintptr_t alignment = 256;
    const auto address = reinterpret_cast<std::uintptr_t>(own_result.data());
    const auto wanted = reinterpret_cast<std::uintptr_t>(given.problem.c.data) % alignment;
    form.problem.c.data = reinterpret_cast<product_result_t<T>*>(
        own_result.data() + (alignment + wanted - address % alignment) % alignment);
  }
  const auto clock = Library::make_clock(ctx.instance(), 2);
  std::size_t fastest = 0;
  with_planned_product<Library>(ctx, form, most_tuned_algorithms, [&](auto& product) {
    const auto& algorithms = product.plan().algorithms();
    fastest = find_fastest(algorithms.size() + 1, [&](std::size_t which, int warm_ups, int times) {
      return seconds_of(*clock, warm_ups, times, [&] {
        which < algorithms.size() ? product.run(algorithms[which]) : Library::template run_otherwise<T>(ctx, form);
      });
    });
  });
  return fastest;
}

/// Runs the library's first proposal, or the vendor's other library if there is no proposal.
template <class Library, class T>
void run_first_proposal(context<typename Library::execution_space>& ctx, const blas_form<T>& form) {
  const auto device = Library::make_current(ctx.instance());
  with_planned_product<Library>(ctx, form, 1, [&](auto& product) {
    const auto& algorithms = product.plan().algorithms();
    algorithms.empty() ? Library::template run_otherwise<T>(ctx, form) : product.run(algorithms.front());
  });
}

/// Runs the fastest of the library's proposals and the vendor's other library. The first product of a problem in a
/// context measures them all, which waits for the device and takes tenths of a second or more. If nothing was measured
/// before and the instance is being captured in a graph, this is run_first_proposal().
template <class Library, class T>
void run_fastest(context<typename Library::execution_space>& ctx, const blas_form<T>& form) {
  const auto device = Library::make_current(ctx.instance());
  with_planned_product<Library>(ctx, form, most_tuned_algorithms, [&](auto& product) {
    auto& plan = product.plan();
    if (!plan.fastest) {
      if (Library::is_captured(ctx.instance())) return run_first_proposal<Library>(ctx, form);
      plan.fastest = find_fastest_algorithm<Library>(ctx, form);
    }
    if (*plan.fastest >= plan.algorithms().size()) return Library::template run_otherwise<T>(ctx, form);
    product.run(plan.algorithms()[*plan.fastest]);
  });
}

}  // namespace prumo::backend
