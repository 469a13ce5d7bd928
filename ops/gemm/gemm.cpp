// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blas_form.hpp"
#include "device_choice.hpp"
#include "direct_gemm.hpp"
#include "gemm_completion.hpp"
#include "thin_gemm.hpp"
#include <prumo/check.hpp>
#include <prumo/detail/host/prefetch.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/gemm.hpp>
#include <prumo/spaces.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace prumo::detail {
namespace {

constexpr std::string_view operation = "prumo::gemm";

/// The product as backend::dispatch() wants it.
template <class T>
struct gemm_operation {
  using problem = backend::gemm_problem<T>;
  using prepared = backend::blas_form<T>;
  template <class Exec>
  using shortcut = backend::shortcut<Exec, problem>;

  static constexpr std::string_view name = operation;
  static constexpr std::string_view type = scalar_traits<T>::name;

  static std::string describe(const problem& of) {
    std::string text = std::string(type) + " m = " + std::to_string(of.m) + ", n = " + std::to_string(of.n) +
                       ", k = " + std::to_string(of.k);
    if (of.batch != 1) text += ", batch = " + std::to_string(of.batch);
    if (of.has_bias) text += ", with a bias";
    if (of.activation != activation_function::none) text += ", " + std::string(activation_name(of.activation));
    return text + ", mode " + std::string(gemm_mode_name(of.mode));
  }

  static std::string region_details(const problem& of) {
    return std::string(type) + "," + std::string(gemm_mode_name(of.mode));
  }

  /// On a host the portable kernels for thin and direct products come first: the BLAS computes them in tiles that are
  /// mostly empty, and copies more than it multiplies. Before some of them comes oneDNN. On a device it comes first for
  /// short sums and for few long rows times a vector.
  template <class Exec>
  static std::span<const backend::gemm_candidate<Exec, T>> candidates(const problem& of) {
    const auto list = [](bool has_epilogue, bool portable_first) {
      return backend::joined_candidates<backend::gemm_candidate<Exec, T>>(
          backend::vendor_gemm_candidates<Exec, T>(has_epilogue), backend::portable_gemm_candidate<Exec, T>(),
          portable_first);
    };
    if constexpr (is_host_space<Exec>) {
      const auto with_onednn_first = [](auto all) {
        std::stable_partition(all.begin(), all.end(), [](const auto& one) { return one.name == "onednn"; });
        return all;
      };
      static const auto libraries = list(false, false), portable = list(false, true);
      static const auto onednn_and_libraries = with_onednn_first(libraries);
      static const auto onednn_and_portable = with_onednn_first(portable);
      switch (backend::host_order_of(of)) {
        case backend::host_order::onednn_and_libraries: return onednn_and_libraries;
        case backend::host_order::portable: return portable;
        case backend::host_order::onednn_and_portable: return onednn_and_portable;
        case backend::host_order::libraries: break;
      }
      return libraries;
    } else {
      static const auto of_plain_products = list(false, false), portable_first = list(false, true);
      static const auto of_products_with_epilogue = list(true, false);
      if (backend::has_short_sums_for_device(of) || backend::has_few_long_rows_for_device(of)) return portable_first;
      return of.has_epilogue() ? of_products_with_epilogue : of_plain_products;
    }
  }

  template <class Exec>
  static std::optional<shortcut<Exec>> shortcut_of(const problem& of) {
    if (of.is_empty()) return shortcut<Exec>{"none", "C is empty", nullptr};
    if (!of.is_scaling()) return std::nullopt;
    return shortcut<Exec>{"scale", "nothing is multiplied", [](context<Exec>& ctx, const problem& scaled) {
                            backend::enqueue_gemm_completion(ctx, backend::scaling_of(scaled));
                          }};
  }
};

/// The arguments of a call.
struct gemm_call {
  transposition trans_a;
  transposition trans_b;
  double alpha;
  const array_ref& a;
  const array_ref& b;
  double beta;
  const array_ref& c;
  const gemm_options& options;

  bool is_transposed_a() const { return trans_a == transposition::yes; }
  bool is_transposed_b() const { return trans_b == transposition::yes; }
  /// The dimension of rows; that of columns follows.
  int row() const { return c.rank - 2; }
  const array_ref* bias() const {
    if (options.column_bias) return &*options.column_bias;
    return options.row_bias ? &*options.row_bias : nullptr;
  }
};

bool is_product_type(dtype type) { return is_scalar_type(type) || type == dtype::f8_e4m3; }

void check_types_and_ranks(const gemm_call& call) {
  const auto& [trans_a, trans_b, alpha, a, b, beta, c, options] = call;
  if (!is_product_type(a.type) || a.type != b.type || c.type != product_result_type(a.type)) {
    check::throw_argument(operation,
                          "A, B and C of the same type of f32, f64, f16 and bf16, or A and B of f8_e4m3 and C of bf16",
                          {{"A", a}, {"B", b}, {"C", c}});
  }
  if ((c.rank != 2 && c.rank != 3) || a.rank != c.rank || b.rank != c.rank) {
    check::throw_argument(operation, "matrices (rank 2), or batches of them (rank 3)", {{"A", a}, {"B", b}, {"C", c}});
  }
}

void check_extents(const gemm_call& call) {
  const auto& [trans_a, trans_b, alpha, a, b, beta, c, options] = call;
  const bool transposed_a = call.is_transposed_a();
  const bool transposed_b = call.is_transposed_b();
  const int row = call.row();
  const int column = row + 1;
  const auto equals_batch = [&](const array_ref& x) { return row == 0 || x.extents[0] == c.extents[0]; };
  const bool fits = a.extents[transposed_a ? column : row] == c.extents[row] &&
                    b.extents[transposed_b ? row : column] == c.extents[column] &&
                    a.extents[transposed_a ? row : column] == b.extents[transposed_b ? column : row] &&
                    equals_batch(a) && equals_batch(b);
  if (fits) return;
  const std::string batch = row == 1 ? "batch x " : "";
  check::throw_shape(operation,
                     std::string("A [") + batch + (transposed_a ? "k x m], transposed" : "m x k]") + ", B [" + batch +
                         (transposed_b ? "n x k], transposed" : "k x n]") + ", and C [" + batch + "m x n]",
                     {{"A", a}, {"B", b}, {"C", c}});
}

void check_bias(const instance_ref& space, const gemm_call& call) {
  const array_ref* const bias = call.bias();
  if (bias == nullptr) return;
  const array_ref& c = call.c;
  if (call.options.column_bias && call.options.row_bias) {
    throw argument_error(std::string(operation) +
                         ": expected a bias of the columns or one of the rows of C; got both. Add one of them to C "
                         "before, and let beta be 1");
  }
  check::arrays(operation, space, {{"C", c}}, {{"the bias", *bias}});
  check::rank(operation, {"the bias", *bias}, 1);
  if (bias->type != c.type) check::throw_argument(operation, "a bias of C's type", {{"the bias", *bias}, {"C", c}});
  const bool of_columns = call.options.column_bias.has_value();
  if (bias->extents[0] != c.extents[of_columns ? c.rank - 1 : c.rank - 2]) {
    check::throw_shape(operation,
                       std::string("a bias with an entry for each ") + (of_columns ? "column" : "row") + " of C",
                       {{"the bias", *bias}, {"C", c}});
  }
}

void check_call(const instance_ref& space, const gemm_call& call) {
  check::arrays(operation, space, {{"C", call.c}}, {{"A", call.a}, {"B", call.b}});
  check_types_and_ranks(call);
  check_extents(call);
  check_bias(space, call);
}

template <class T>
backend::gemm_matrix<T> matrix_of(const array_ref& array, bool transposed) {
  const int row = array.rank - 2;
  const backend::gemm_matrix<T> matrix{array.as<T>(), array.strides[row], array.strides[row + 1],
                                       row == 1 ? array.strides[0] : 0};
  return transposed ? matrix.transposed() : matrix;
}

template <class T>
backend::gemm_problem<T> problem_of(const gemm_call& call) {
  using R = product_result_t<T>;
  using parameter_type = typename backend::gemm_problem<T>::parameter_type;
  const int row = call.row();
  backend::gemm_problem<T> problem;
  problem.m = call.c.extents[row];
  problem.n = call.c.extents[row + 1];
  problem.k = call.a.extents[call.is_transposed_a() ? row : row + 1];
  problem.batch = row == 1 ? call.c.extents[0] : 1;
  problem.alpha = static_cast<parameter_type>(call.alpha);
  problem.beta = static_cast<parameter_type>(call.beta);
  problem.a = matrix_of<const T>(call.a, call.is_transposed_a());
  problem.b = matrix_of<const T>(call.b, call.is_transposed_b());
  problem.c = matrix_of<R>(call.c, false);
  problem.mode = call.options.mode;
  problem.activation = call.options.activation;
  if (const array_ref* const bias = call.bias()) {
    const bool of_columns = call.options.column_bias.has_value();
    problem.has_bias = true;
    problem.bias = {bias->as<const R>(), of_columns ? 0 : bias->strides[0], of_columns ? bias->strides[0] : 0, 0};
  }
  return problem;
}

/// Asks for a small matrix that comes from memory. Reading it takes longer than the product, so it should be on its way
/// while an implementation is chosen. From a cache, a product of 16 x 16 x 64 would take 30 ns of 350 more.
template <class T>
void prefetch_small(const backend::gemm_matrix<const T>& matrix, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most_elements = 16384 / static_cast<std::int64_t>(sizeof(T));
  const bool has_no_gaps =
      matrix.column_stride == 1 ? matrix.row_stride == columns : matrix.row_stride == 1 && matrix.column_stride == rows;
  if (has_no_gaps && rows * columns <= most_elements) {
    prefetch_bytes(matrix.data, static_cast<std::size_t>(rows * columns) * sizeof(T));
  }
}

/// Calls `visit.template operator()<Exec, T>()` for an execution space and a type of A.
template <class Visitor>
void with_space_and_type(space_kind space, dtype type, const Visitor& visit) {
  with_space(space, [&]<class Exec> {
    if (type == dtype::f8_e4m3) return visit.template operator()<Exec, f8_e4m3>();
    with_scalar(type, [&]<class T> { visit.template operator()<Exec, T>(); });
  });
}

}  // namespace
}  // namespace prumo::detail

namespace prumo {

void gemm(context_ref ctx, transposition trans_a, transposition trans_b, double alpha, const array_ref& a,
          const array_ref& b, double beta, const array_ref& c, const gemm_options& options) {
  const detail::gemm_call call{trans_a, trans_b, alpha, a, b, beta, c, options};
  detail::check_call(ctx, call);
  detail::with_space_and_type(ctx.space(), a.type, [&]<class Exec, class T> {
    const auto problem = detail::problem_of<T>(call);
    if constexpr (is_host_space<Exec>) {
      if (detail::exceeds_caches(0, ctx.working_set())) {
        detail::prefetch_small(problem.a, problem.m, problem.k);
        detail::prefetch_small(problem.b, problem.k, problem.n);
      }
    }
    backend::dispatch<detail::gemm_operation<T>>(ctx.as<Exec>(), problem, options.implementation);
  });
}

std::string_view gemm_implementation(const instance_ref& space, transposition trans_a, transposition trans_b,
                                     double alpha, const array_ref& a, const array_ref& b, double beta,
                                     const array_ref& c, const gemm_options& options) {
  const detail::gemm_call call{trans_a, trans_b, alpha, a, b, beta, c, options};
  detail::check_types_and_ranks(call);
  detail::check_extents(call);
  std::string_view name;
  detail::with_space_and_type(space.space(), a.type, [&]<class Exec, class T> {
    name = backend::implementation_name<detail::gemm_operation<T>>(space.instance<Exec>(), detail::problem_of<T>(call),
                                                                   options.implementation);
  });
  return name;
}

std::vector<std::string_view> gemm_implementations(space_kind space, dtype type) {
  std::vector<std::string_view> names;
  detail::with_space_and_type(space, type, [&]<class Exec, class T> {
    names = backend::implementation_names<detail::gemm_operation<T>, Exec>();
  });
  return names;
}

bool gemm_uses_matrix_units(space_kind space, dtype type, std::string_view implementation) {
  bool answer = false;
  detail::with_space_and_type(space, type, [&]<class Exec, class T> {
    answer = backend::uses_matrix_units<detail::gemm_operation<T>, Exec>(implementation);
  });
  return answer;
}

}  // namespace prumo
