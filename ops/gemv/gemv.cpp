// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_vector_form.hpp"
#include "device_choice.hpp"
#include "gemm_completion.hpp"
#include <prumo/check.hpp>
#include <prumo/gemv.hpp>
#include <prumo/spaces.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::detail {
namespace {

constexpr std::string_view operation = "prumo::gemv";

/// The product as backend::dispatch() wants it.
template <class T>
struct gemv_operation {
  using problem = backend::gemv_problem<T>;
  using prepared = backend::blas_vector_form<T>;
  template <class Exec>
  using shortcut = backend::shortcut<Exec, problem>;

  static constexpr std::string_view name = operation;
  static constexpr std::string_view type = scalar_traits<T>::name;

  static std::string describe(const problem& of) {
    return std::string(type) + " m = " + std::to_string(of.m) + ", n = " + std::to_string(of.n);
  }
  static std::string region_details(const problem&) { return std::string(type); }

  /// The time goes into reading the matrix. On a host the portable kernels come first: they read it once, whatever its
  /// shape is. On devices the vendors' kernels come first, which are faster for most shapes, but not for few long rows.
  template <class Exec>
  static std::span<const backend::gemv_candidate<Exec, T>> candidates(const problem& of) {
    const auto list = [](bool portable_first) {
      return backend::joined_candidates<backend::gemv_candidate<Exec, T>>(
          backend::vendor_gemv_candidates<Exec, T>(), backend::portable_gemv_candidate<Exec, T>(), portable_first);
    };
    static const auto portable_first = list(true), vendor_first = list(false);
    return is_host_space<Exec> || backend::has_few_long_rows_for_device(of.as_product()) ? portable_first
                                                                                         : vendor_first;
  }

  template <class Exec>
  static std::optional<shortcut<Exec>> shortcut_of(const problem& of) {
    if (of.is_empty()) return shortcut<Exec>{"none", "y is empty", nullptr};
    if (!of.is_scaling()) return std::nullopt;
    return shortcut<Exec>{"scale", "nothing is multiplied", [](context<Exec>& ctx, const problem& scaled) {
                            backend::enqueue_gemm_completion(ctx, backend::scaling_of(scaled.as_product()));
                          }};
  }
};

void check_arrays(bool transposed, const array_ref& a, const array_ref& x, const array_ref& y) {
  check::same_scalar_type(operation, {{"A", a}, {"x", x}, {"y", y}});
  check::rank(operation, {"A", a}, 2);
  check::rank(operation, {"x", x}, 1);
  check::rank(operation, {"y", y}, 1);
  if (a.extents[transposed ? 1 : 0] == y.extents[0] && a.extents[transposed ? 0 : 1] == x.extents[0]) return;
  check::throw_shape(operation,
                     std::string("A ") + (transposed ? "[n x m], transposed" : "[m x n]") + ", x [n], and y [m]",
                     {{"A", a}, {"x", x}, {"y", y}});
}

template <class T>
backend::gemv_problem<T> problem_of(bool transposed, double alpha, const array_ref& a, const array_ref& x, double beta,
                                    const array_ref& y) {
  using parameter_type = typename backend::gemv_problem<T>::parameter_type;
  backend::gemv_problem<T> problem;
  problem.m = y.extents[0];
  problem.n = x.extents[0];
  problem.alpha = static_cast<parameter_type>(alpha);
  problem.beta = static_cast<parameter_type>(beta);
  problem.a = {a.as<const T>(), a.strides[transposed ? 1 : 0], a.strides[transposed ? 0 : 1], 0};
  problem.x = x.as<const T>();
  problem.x_stride = x.strides[0];
  problem.y = y.as<T>();
  problem.y_stride = y.strides[0];
  return problem;
}

}  // namespace
}  // namespace prumo::detail

namespace prumo {

void gemv(context_ref ctx, transposition trans_a, double alpha, const array_ref& a, const array_ref& x, double beta,
          const array_ref& y, const gemv_options& options) {
  const bool transposed = trans_a == transposition::yes;
  check::arrays(detail::operation, ctx, {{"y", y}}, {{"A", a}, {"x", x}});
  detail::check_arrays(transposed, a, x, y);
  detail::with_space_and_scalar(ctx.space(), y.type, [&]<class Exec, class T> {
    backend::dispatch<detail::gemv_operation<T>>(
        ctx.as<Exec>(), detail::problem_of<T>(transposed, alpha, a, x, beta, y), options.implementation);
  });
}

std::string_view gemv_implementation(const instance_ref& space, transposition trans_a, double alpha, const array_ref& a,
                                     const array_ref& x, double beta, const array_ref& y, const gemv_options& options) {
  const bool transposed = trans_a == transposition::yes;
  detail::check_arrays(transposed, a, x, y);
  std::string_view name;
  detail::with_space_and_scalar(space.space(), y.type, [&]<class Exec, class T> {
    name = backend::implementation_name<detail::gemv_operation<T>>(
        space.instance<Exec>(), detail::problem_of<T>(transposed, alpha, a, x, beta, y), options.implementation);
  });
  return name;
}

std::vector<std::string_view> gemv_implementations(space_kind space, dtype type) {
  std::vector<std::string_view> names;
  detail::with_space_and_scalar(space, type, [&]<class Exec, class T> {
    names = backend::implementation_names<detail::gemv_operation<T>, Exec>();
  });
  return names;
}

}  // namespace prumo
