// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_reference.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/gemm.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

/// The extents and parameters of a choice.
struct product {
  std::int64_t m, n, k;
  double alpha, beta;
  bool trans_a, trans_b;

  product(const shape& extents, const parameters& values)
      : m(extents.at("m")),
        n(extents.at("n")),
        k(extents.at("k")),
        alpha(values.at("alpha")),
        beta(values.at("beta")),
        trans_a(values.at("trans_a") != 0),
        trans_b(values.at("trans_b") != 0) {}
  explicit product(const specification& choice) : product(choice.shape, choice.values) {}

  flop_counts counts() const { return backend::canonical_gemm_counts(m, n, k, 1, alpha, beta); }
};

/// The matrix behind row-major memory of rows x columns, perhaps transposed.
template <class T>
backend::gemm_matrix<T> row_major(T* data, std::int64_t columns, bool transposed) {
  const backend::gemm_matrix<T> matrix{data, columns, 1, 0};
  return transposed ? matrix.transposed() : matrix;
}

/// The problem of a choice in arrays of one layout at the given addresses.
template <class T>
backend::gemm_problem<T> problem_of(const product& what, array_layout layout, const T* a, const T* b, T* c) {
  using parameter_type = typename backend::gemm_problem<T>::parameter_type;
  const auto placed = [&]<class Element>(Element* data, std::int64_t rows, std::int64_t columns, bool transposed) {
    if (layout == array_layout::left) return row_major(data, rows, !transposed);
    backend::gemm_matrix<Element> matrix = row_major(data, columns, false);
    if (layout == array_layout::strided) matrix = {data, 2 * columns + 3, 2, 0};
    return transposed ? matrix.transposed() : matrix;
  };
  backend::gemm_problem<T> problem;
  problem.m = what.m;
  problem.n = what.n;
  problem.k = what.k;
  problem.alpha = static_cast<parameter_type>(what.alpha);
  problem.beta = static_cast<parameter_type>(what.beta);
  problem.a = placed(a, what.trans_a ? what.k : what.m, what.trans_a ? what.m : what.k, what.trans_a);
  problem.b = placed(b, what.trans_b ? what.n : what.k, what.trans_b ? what.k : what.n, what.trans_b);
  problem.c = placed(c, what.m, what.n, false);
  return problem;
}

constexpr gemm_mode fast_modes[] = {gemm_mode::fast_tf32, gemm_mode::fast_bf16, gemm_mode::fast_f16};

/// The largest relative error of an input that a mode rounds: of one unit in the last place, since units of some
/// devices cut digits off.
long double input_error(gemm_mode mode) {
  switch (mode) {
    case gemm_mode::strict: return 0;
    case gemm_mode::fast_tf32:
    case gemm_mode::fast_f16: return 0x1p-10L;
    case gemm_mode::fast_bf16: return 0x1p-7L;
  }
  return 0;
}

gemm_options options_of(const specification& choice) {
  gemm_options options;
  if (choice.implementation != "auto") options.implementation = choice.implementation;
  for (const gemm_mode mode : fast_modes) {
    if (choice.compute_mode == gemm_mode_name(mode)) options.mode = mode;
  }
  return options;
}

template <class Exec>
class gemm_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "gemm";
    result.description = "C = alpha op(A) op(B) + beta C";
    result.axes = {{"m", "rows of C", 0}, {"n", "columns of C", 0}, {"k", "columns of op(A), rows of op(B)", 0}};
    result.values = {{"alpha", "the factor of the product", 1},
                     {"beta", "the factor of the old C", 0},
                     {"trans_a", "1 where A is stored transposed", 0},
                     {"trans_b", "1 where B is stored transposed", 0}};
    result.implementations = {"auto"};
    for (const std::string_view name : prumo::detail::gemm_implementations<Exec, float>()) {
      result.implementations.emplace_back(name);
    }
    if (!is_host_space<Exec>) {
      for (const gemm_mode mode : fast_modes) result.compute_modes.emplace_back(gemm_mode_name(mode));
    }
    result.in_default_sweep = true;
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    shape extents;
    for (const auto& [name, extent] : given) {
      if (name != "m" && name != "n" && name != "k")
        throw argument_error("gemm: there is no axis '" + name + "'; the axes are m, n, k");
      if (extent < 0) throw argument_error("gemm: axis " + name + " is negative");
    }
    const std::int64_t elements = bytes_per_array / static_cast<std::int64_t>(dtype_size(type));
    auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
    while (side * side > elements) --side;
    for (const char* const name : {"m", "n", "k"}) {
      if (!given.contains(name) && bytes_per_array == 0) {
        throw argument_error(std::string("gemm: axis ") + name + " is not given and neither is a size");
      }
      extents.set(name, given.contains(name) ? given.at(name) : side);
    }
    return extents;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const auto stored = [](std::int64_t rows, std::int64_t columns, bool transposed) {
      return transposed ? std::vector<std::int64_t>{columns, rows} : std::vector<std::int64_t>{rows, columns};
    };
    return {{"A", array_role::input, stored(what.m, what.k, what.trans_a)},
            {"B", array_role::input, stored(what.k, what.n, what.trans_b)},
            {"C", what.beta == 0 ? array_role::output : array_role::input_output, {what.m, what.n}}};
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const auto m = static_cast<double>(what.m);
    const auto n = static_cast<double>(what.n);
    const auto k = static_cast<double>(what.k);
    const double inputs = what.alpha == 0 ? 0 : m * k + k * n;
    const double outputs = (what.beta == 0 ? 1 : 2) * m * n;
    return {(inputs + outputs) * static_cast<double>(dtype_size(type)), static_cast<double>(what.counts().total()),
            m * n};
  }

  void run(context<Exec>& ctx, const specification& choice, const case_arrays<Exec>& arrays) const override {
    const product what(choice);
    const auto as_transpose = [](bool transposed) { return transposed ? transpose::yes : transpose::no; };
    with_type(choice.type, [&]<class T>(T) {
      gemm(ctx, as_transpose(what.trans_a), as_transpose(what.trans_b), static_cast<compute_t<T>>(what.alpha),
           arrays.template matrix<T>(0), arrays.template matrix<T>(1), static_cast<compute_t<T>>(what.beta),
           arrays.template matrix<T>(2), options_of(choice));
    });
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return product_reference::parts(extents.at("m"), extents.at("n"));
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return product_reference::part_cost(extents.at("m"), extents.at("n"), extents.at("k"));
  }

  /// The bound: each product reaches C through at most k additions (of k products and the old C, in whatever
  /// order and blocks), its own rounding, and those of alpha or beta, so the error is below gamma_{k+2}
  /// (|alpha| |A| |B| + |beta| |C|); Higham, section 3.5. Then C is rounded to its storage type. A mode that rounds
  /// inputs by e at most adds (2 e + e^2) |alpha| |A| |B|.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const product what(choice);
    const long double alpha = as_computed(choice.type, what.alpha);
    const long double beta = as_computed(choice.type, what.beta);
    const long double e = input_error(options_of(choice).mode);
    const long double growth = gamma(compute_type(choice.type), static_cast<double>(what.k) + 2);
    const product_reference tile(choice.type, inputs, part, {what.m, what.n, what.k, what.trans_a, what.trans_b});
    std::vector<double> old(static_cast<std::size_t>(tile.columns()));
    for (std::int64_t i = 0; i < tile.rows(); ++i) {
      const std::int64_t first = (tile.first_row() + i) * what.n + tile.first_column();
      if (beta != 0) inputs.read(2, first, old);
      for (std::int64_t j = 0; j < tile.columns(); ++j) {
        const long double addend = beta * static_cast<long double>(old[static_cast<std::size_t>(j)]);
        const long double value = alpha * tile.sum(i, j) + addend;
        const long double products = std::fabs(alpha) * tile.sum_of_magnitudes(i, j);
        const long double bound = growth * (products + std::fabs(addend)) + (2 * e + e * e) * products;
        out.push_back({2, first + j, value, stored_bound(choice.type, value, bound)});
      }
    }
  }

  std::string why_unsupported(const specification& choice) const override {
    try {
      (void)implementation_name(choice);
      return {};
    } catch (const unsupported_error& refusal) {
      return refusal.what();
    }
  }

  std::string implementation_name(const specification& choice) const override {
    return with_type(choice.type, [&]<class T>(T) {
      auto problem = problem_of<T>(product(choice), choice.layout, nullptr, nullptr, nullptr);
      problem.mode = options_of(choice).mode;
      return std::string(prumo::detail::gemm_implementation(Exec{}, problem, options_of(choice)));
    });
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override { return product(choice).counts(); }

 private:
  template <class T>
  static flop_counts count_with(const specification& choice) {
    const product what(choice);
    const input_values inputs(choice);
    const auto read = [&](std::size_t which, std::int64_t count) {
      std::vector<double> numbers(static_cast<std::size_t>(count));
      inputs.read(which, 0, numbers);
      std::vector<counted<T>> values(numbers.size());
      std::transform(numbers.begin(), numbers.end(), values.begin(),
                     [](double number) { return counted<T>(static_cast<T>(number)); });
      return values;
    };
    const auto a = read(0, what.m * what.k);
    const auto b = read(1, what.k * what.n);
    auto c = read(2, what.m * what.n);
    const auto problem = problem_of<counted<T>>(what, array_layout::right, a.data(), b.data(), c.data());
    flop_counts counts;
    const counting_scope scope(counts);
    backend::run_canonical_gemm(problem);
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(gemm, prumo::cases::gemm_case)
