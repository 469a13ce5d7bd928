// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fma_probe.hpp"
#include "memory_probes.hpp"
#include "probe_case.hpp"
#include "rate_probes.hpp"
#include <prumo/case/elementwise_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/detail/elementwise.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

template <class C>
struct triad_formula {
  C alpha;
  KOKKOS_FUNCTION C operator()(C x, C y) const { return fma(alpha, y, x); }
};

template <class Exec>
struct triad_case final : elementwise_case<triad_case<Exec>, Exec, 2> {
  static constexpr double ulps = 0.5;
  static constexpr flop_counts per_element() { return one(flop_kind::fma); }

  case_info info() const override {
    case_info result = triad_case::elementwise_info("triad", "z = x + alpha y: the ceiling of memory, as in STREAM");
    result.values = {{"alpha", "the factor", 0.4}};
    result.in_default_sweep = false;
    result.is_probe = true;
    return result;
  }

  static void call(instance_ref space, const parameters& values, const array_ref& x, const array_ref& y,
                   const array_ref& z) {
    static const prumo::detail::elementwise_name name("prumo::probe::triad");
    const auto formula = [&]<class C>() { return triad_formula<C>{static_cast<C>(values.at("alpha"))}; };
    prumo::detail::enqueue_elementwise(name, space, formula, z, x, y);
  }
  template <class C>
  static triad_formula<C> formula(const parameters& values) {
    return {C(static_cast<plain_scalar_t<C>>(values.at("alpha")))};
  }
  static long double exact(const long double* x, const specification& choice) {
    return x[0] + as_computed(choice.type, choice.values.at("alpha")) * x[1];
  }

  /// Without a fused multiply-add there are two roundings, of values as large as the terms, because these may cancel.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::size_t before = out.size();
    triad_case::elementwise_case::reference(choice, inputs, part, out);
    const dtype computed = compute_type(choice.type);
    const long double alpha = std::fabs(as_computed(choice.type, choice.values.at("alpha")));
    if (out.size() == before) return;
    std::vector<double> x(out.size() - before);
    std::vector<double> y(out.size() - before);
    inputs.read(0, out[before].index, x);
    inputs.read(1, out[before].index, y);
    for (std::size_t at = 0; at < x.size(); ++at) {
      reference_entry& entry = out[before + at];
      const long double terms =
          static_cast<long double>(std::fabs(x[at])) + alpha * static_cast<long double>(std::fabs(y[at]));
      entry.bound = stored_bound(choice.type, entry.value, gamma(computed, 2) * terms);
    }
  }
};

/// Next to no work, so that the time is that of the launch by Kokkos' own policy, as a user would write it.
template <class T>
struct launch_kernel {
  T* results;

  PRUMO_SUPPRESS_EXECUTION_SPACE_CHECK
  KOKKOS_FUNCTION void operator()(std::int64_t index) const { results[index] = T(1); }
};

template <class Exec>
struct launch_case final : writing_probe_case<launch_case<Exec>, Exec> {
  static constexpr long double written = 1;

  case_info info() const override {
    case_info result =
        launch_case::probe_info("launch", "a Kokkos kernel that does next to nothing: what a launch costs",
                                {{"n", "indices of the kernel", fallback}});
    result.types = {dtype::f32};
    return result;
  }

  /// Its size is not the bytes of an array.
  shape resolve(dtype type, std::int64_t, const shape& given) const override {
    return resolve_vector("launch", type, fallback * static_cast<std::int64_t>(dtype_size(type)), given);
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    static const std::string label = "prumo::probe::launch";
    Kokkos::parallel_for(label, Kokkos::RangePolicy<Exec>(ctx.instance(), 0, choice.shape.at("n")),
                         launch_kernel<float>{arrays[0].as<float>()});
  }

 private:
  static constexpr std::int64_t fallback = 64;
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(probes, prumo::cases::triad_case, prumo::cases::read_case, prumo::cases::write_case,
                     prumo::cases::fma_probe_case, prumo::cases::launch_case, prumo::cases::exp_rate_case,
                     prumo::cases::log_rate_case, prumo::cases::tanh_rate_case, prumo::cases::erf_rate_case,
                     prumo::cases::div_rate_case, prumo::cases::sqrt_rate_case)
