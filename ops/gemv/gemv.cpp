// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/gemv.hpp>
#include <prumo/spaces.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <cstdio>
#include <span>
#include <string>

namespace prumo::detail {
namespace {

template <class Exec, class T>
using candidate = backend::gemv_candidate<Exec, T>;

/// Best first. The product is bound by the matrix's way through the memory. On the host the portable kernels read it
/// once whatever its shape is; on devices the vendors' do so at least where it is large, and ours are yet to be
/// measured.
template <class Exec, class T>
const std::vector<candidate<Exec, T>>& candidates() {
  static const std::vector<candidate<Exec, T>> list = [] {
    const auto vendor = backend::vendor_gemv_candidates<Exec, T>();
    std::vector<candidate<Exec, T>> all(vendor.begin(), vendor.end());
    all.insert(is_host_space<Exec> ? all.begin() : all.end(), backend::portable_gemv_candidate<Exec, T>());
    return all;
  }();
  return list;
}

template <class T>
std::string product_text(const backend::gemv_problem<T>& problem) {
  return std::string(scalar_traits<T>::name) + " m = " + std::to_string(problem.m) +
         ", n = " + std::to_string(problem.n);
}

/// The first candidate that can, or the one named. With `log`, says why, a line each.
template <class Exec, class T>
const candidate<Exec, T>& choose(const Exec& instance, const backend::gemv_problem<T>& problem,
                                 const gemv_options& options, std::string* log) {
  return backend::choose_candidate(std::span(candidates<Exec, T>()), "prumo::gemv", scalar_traits<T>::name, instance,
                                   problem, product_text<T>, options.implementation, log);
}

}  // namespace

void check_gemv(const instance_ref& space, bool transposed, const array_ref& a, const array_ref& x,
                const array_ref& y) {
  check::usable("prumo::gemv", space, {{"y", y}}, {{"A", a}, {"x", x}});
  if (a.extents[transposed ? 1 : 0] != y.extents[0] || a.extents[transposed ? 0 : 1] != x.extents[0]) {
    check::throw_shape("prumo::gemv",
                       std::string("A ") + (transposed ? "[n x m], transposed" : "[m x n]") + ", x [n], and y [m]",
                       {{"A", a}, {"x", x}, {"y", y}});
  }
  check::distinct_elements("prumo::gemv", space, {"y", y});
  check::no_overlap("prumo::gemv", space, {"y", y}, {"A", a}, aliasing::none);
  check::no_overlap("prumo::gemv", space, {"y", y}, {"x", x}, aliasing::none);
}

template <class Exec, class T>
std::vector<std::string_view> gemv_implementations() {
  std::vector<std::string_view> names;
  for (const candidate<Exec, T>& each : candidates<Exec, T>()) names.push_back(each.name);
  return names;
}

template <class Exec, class T>
std::string_view gemv_implementation(const Exec& instance, const backend::gemv_problem<T>& problem,
                                     const gemv_options& options) {
  if (problem.is_empty()) return "none";
  if (problem.is_scaling()) return "scale";
  return choose(instance, problem, options, nullptr).name;
}

template <class Exec, class T>
void dispatch_gemv(context<Exec>& ctx, const backend::gemv_problem<T>& problem, const gemv_options& options) {
  const bool verbose = backend::prints_dispatch(ctx);
  std::string log;
  if (verbose) log = "prumo::gemv: " + product_text(problem) + " in " + Exec::name() + "\n";
  const candidate<Exec, T>* chosen = nullptr;
  if (problem.is_empty() || problem.is_scaling()) {
    if (verbose) log += problem.is_empty() ? "  none: y is empty\n" : "  scale: nothing is multiplied\n";
  } else {
    chosen = &choose(ctx.instance(), problem, options, verbose ? &log : nullptr);
  }
  if (verbose) std::fputs(log.c_str(), stderr);
  if (problem.is_empty()) return;

  // `prumo::gemv[cblas,f32]`
  const Kokkos::Profiling::ScopedRegion region("prumo::gemv[" +
                                               std::string(chosen != nullptr ? chosen->name : "scale") + "," +
                                               std::string(scalar_traits<T>::name) + "]");
  if (chosen != nullptr) {
    chosen->run(ctx, problem);
  } else {
    backend::enqueue_gemv_scaling(ctx, problem);
  }
}

#define PRUMO_INSTANTIATE_GEMV(Space, T)                                                                 \
  template std::vector<std::string_view> gemv_implementations<Space, T>();                               \
  template std::string_view gemv_implementation<Space, T>(const Space&, const backend::gemv_problem<T>&, \
                                                          const gemv_options&);                          \
  template void dispatch_gemv<Space, T>(context<Space>&, const backend::gemv_problem<T>&, const gemv_options&);
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMV, float)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMV, double)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMV, f16)
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_GEMV, bf16)

}  // namespace prumo::detail
