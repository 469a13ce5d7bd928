// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

namespace prumo::detail {
namespace {

template <class Exec, class T>
using candidate = backend::gemm_candidate<Exec, T>;

/// Best first; the last one computes everything but f8 in mode strict.
template <class Exec, class T>
const std::vector<candidate<Exec, T>>& candidates() {
  static const std::vector<candidate<Exec, T>> list = [] {
    const auto vendor = backend::vendor_gemm_candidates<Exec, T>();
    std::vector<candidate<Exec, T>> all(vendor.begin(), vendor.end());
    all.push_back(backend::portable_gemm_candidate<Exec, T>());
    return all;
  }();
  return list;
}

template <class T>
std::string product_text(const backend::gemm_problem<T>& problem) {
  return std::string(scalar_traits<T>::name) + " m = " + std::to_string(problem.m) +
         ", n = " + std::to_string(problem.n) + ", k = " + std::to_string(problem.k) +
         (problem.batch == 1 ? "" : ", batch = " + std::to_string(problem.batch)) + ", mode " +
         std::string(gemm_mode_name(problem.mode));
}

/// The first candidate that can, or the one named. With `log`, says why, a line each.
template <class Exec, class T>
const candidate<Exec, T>& choose(const Exec& instance, const backend::gemm_problem<T>& problem,
                                 const gemm_options& options, std::string* log) {
  return backend::choose_candidate(std::span(candidates<Exec, T>()), "prumo::gemm", scalar_traits<T>::name, instance,
                                   problem, product_text<T>, options.implementation, log);
}

/// `prumo::gemm[cblas,f32,strict]`
template <class T>
std::string region_name(std::string_view path, gemm_mode mode) {
  return "prumo::gemm[" + std::string(path) + "," + std::string(scalar_traits<T>::name) + "," +
         std::string(gemm_mode_name(mode)) + "]";
}

/// C = beta C, whatever A and B are.
template <class T>
backend::gemm_problem<product_result_t<T>> scaling_of(const backend::gemm_problem<T>& problem) {
  backend::gemm_problem<product_result_t<T>> scaling;
  scaling.m = problem.m;
  scaling.n = problem.n;
  scaling.batch = problem.batch;
  scaling.beta = problem.beta;
  scaling.c = problem.c;
  return scaling;
}

bool equals_batch(const array_ref& x, const array_ref& c) { return c.rank == 2 || x.extents[0] == c.extents[0]; }

}  // namespace

void check_gemm(const instance_ref& space, bool transposed_a, bool transposed_b, const array_ref& a, const array_ref& b,
                const array_ref& c) {
  check::usable("prumo::gemm", space, {{"C", c}}, {{"A", a}, {"B", b}});
  const int row = c.rank - 2;
  const int column = row + 1;
  const bool fits = a.extents[transposed_a ? column : row] == c.extents[row] &&
                    b.extents[transposed_b ? row : column] == c.extents[column] &&
                    a.extents[transposed_a ? row : column] == b.extents[transposed_b ? column : row] &&
                    equals_batch(a, c) && equals_batch(b, c);
  if (!fits) {
    const std::string batch = row == 1 ? "batch x " : "";
    check::throw_shape("prumo::gemm",
                       std::string("A [") + batch + (transposed_a ? "k x m], transposed" : "m x k]") + ", B [" + batch +
                           (transposed_b ? "n x k], transposed" : "k x n]") + ", and C [" + batch + "m x n]",
                       {{"A", a}, {"B", b}, {"C", c}});
  }
  check::distinct_elements("prumo::gemm", space, {"C", c});
  check::no_overlap("prumo::gemm", space, {"C", c}, {"A", a}, aliasing::none);
  check::no_overlap("prumo::gemm", space, {"C", c}, {"B", b}, aliasing::none);
}

template <class Exec, class T>
std::vector<std::string_view> gemm_implementations() {
  std::vector<std::string_view> names;
  for (const candidate<Exec, T>& each : candidates<Exec, T>()) names.push_back(each.name);
  return names;
}

template <class Exec, class T>
std::string_view gemm_implementation(const Exec& instance, const backend::gemm_problem<T>& problem,
                                     const gemm_options& options) {
  if (problem.is_empty()) return "none";
  if (problem.is_scaling()) return "scale";
  return choose(instance, problem, options, nullptr).name;
}

template <class Exec, class T>
bool gemm_uses_matrix_units(std::string_view implementation) {
  return std::ranges::any_of(candidates<Exec, T>(), [&](const candidate<Exec, T>& each) {
    return each.name == implementation && each.uses_matrix_units;
  });
}

template <class Exec, class T>
void dispatch_gemm(context<Exec>& ctx, const backend::gemm_problem<T>& problem, const gemm_options& options) {
  const bool verbose = backend::prints_dispatch(ctx);
  std::string log;
  if (verbose) log = "prumo::gemm: " + product_text(problem) + " in " + Exec::name() + "\n";

  const candidate<Exec, T>* chosen = nullptr;
  if (problem.is_empty() || problem.is_scaling()) {
    if (verbose) log += problem.is_empty() ? "  none: C is empty\n" : "  scale: nothing is multiplied\n";
  } else {
    chosen = &choose(ctx.instance(), problem, options, verbose ? &log : nullptr);
  }
  if (verbose) std::fputs(log.c_str(), stderr);
  if (problem.is_empty()) return;

  const Kokkos::Profiling::ScopedRegion region(
      region_name<T>(chosen != nullptr ? chosen->name : "scale", problem.mode));
  if (chosen != nullptr) {
    chosen->run(ctx, problem);
  } else {
    backend::enqueue_gemm_scaling(ctx, scaling_of(problem));
  }
}

#define PRUMO_INSTANTIATE_GEMM(Space, T)                                                                 \
  template std::vector<std::string_view> gemm_implementations<Space, T>();                               \
  template bool gemm_uses_matrix_units<Space, T>(std::string_view);                                      \
  template std::string_view gemm_implementation<Space, T>(const Space&, const backend::gemm_problem<T>&, \
                                                          const gemm_options&);                          \
  template void dispatch_gemm<Space, T>(context<Space>&, const backend::gemm_problem<T>&, const gemm_options&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM, bf16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMM, f8_e4m3)

}  // namespace prumo::detail
