// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemv_problem.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/gemv.hpp>

#include <cmath>

namespace prumo::cases {
namespace {

/// The extents and parameters of a choice.
struct product {
  std::int64_t m, n;
  double alpha, beta;
  bool trans_a;

  product(const shape& extents, const parameters& values)
      : m(extents.at("m")),
        n(extents.at("n")),
        alpha(values.at("alpha")),
        beta(values.at("beta")),
        trans_a(values.at("trans_a") != 0) {}
  explicit product(const specification& choice) : product(choice.shape, choice.values) {}

  flop_counts counts() const { return backend::canonical_gemm_counts(m, 1, n, 1, alpha, beta); }
};

/// A matrix or a vector of a layout in nobody's memory.
array_ref placed(dtype type, array_layout layout, std::int64_t rows, std::int64_t columns) {
  if (layout == array_layout::left) return {nullptr, type, {rows, columns}, {1, rows}};
  if (layout == array_layout::strided) return {nullptr, type, {rows, columns}, {2 * columns + 3, 2}};
  return {nullptr, type, {rows, columns}};
}
array_ref placed(dtype type, array_layout layout, std::int64_t entries) {
  return {nullptr, type, {entries}, {layout == array_layout::strided ? 2 : 1}};
}

gemv_options options_of(const specification& choice) {
  gemv_options options;
  if (choice.implementation != "auto") options.implementation = choice.implementation;
  return options;
}

template <class Exec>
class gemv_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "gemv";
    result.description = "y = alpha op(A) x + beta y";
    result.axes = {{"m", "entries of y", 0}, {"n", "entries of x", 0}};
    result.values = {{"alpha", "the factor of the product", 1},
                     {"beta", "the factor of the old y", 0},
                     {"trans_a", "1 where A is stored transposed", 0, nullptr, {1}}};
    result.implementations = {"auto"};
    for (const std::string_view name : gemv_implementations(prumo::detail::space_kind_of<Exec>::value, dtype::f32)) {
      result.implementations.emplace_back(name);
    }
    return result;
  }

  /// The size is that of A: a square, or what one given extent leaves of it.
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    shape sides;
    for (const auto& [name, extent] : given) {
      if (name != "m" && name != "n") {
        throw argument_error("gemv: there is no axis '" + name + "'; its axes are: m, n");
      }
      sides.set(name == "m" ? "rows" : "columns", extent);
    }
    for (const char* const name : {"m", "n"}) {
      if (given.contains(name) && given.at(name) < 0) {
        throw argument_error(std::string("gemv: axis ") + name + " is " + std::to_string(given.at(name)) +
                             ", expected 0 or more");
      }
      if (!given.contains(name) && bytes_per_array == 0) {
        throw argument_error(std::string("gemv: give axis ") + name + ", or the bytes of A that it follows from");
      }
    }
    const shape matrix = resolve_matrix("gemv", type, bytes_per_array, sides);
    return {{"m", matrix.at("rows")}, {"n", matrix.at("columns")}};
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const std::int64_t rows = what.trans_a ? what.n : what.m;
    const std::int64_t columns = what.trans_a ? what.m : what.n;
    return {{"A", array_role::input, {rows, columns}},
            {"x", array_role::input, {what.n}},
            {"y", what.beta == 0 ? array_role::output : array_role::input_output, {what.m}}};
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const auto m = static_cast<double>(what.m);
    const auto n = static_cast<double>(what.n);
    const double inputs = what.alpha == 0 ? 0 : m * n + n;
    const double outputs = (what.beta == 0 ? 1 : 2) * m;
    return {(inputs + outputs) * static_cast<double>(dtype_size(type)), static_cast<double>(what.counts().total()),
            m * n};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const product what(choice);
    gemv(ctx, what.trans_a ? transposition::yes : transposition::no, what.alpha, arrays[0], arrays[1], what.beta,
         arrays[2], options_of(choice));
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return product_reference::parts(extents.at("m"), 1);
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return product_reference::part_cost(extents.at("m"), 1, extents.at("n"));
  }

  /// The bound is that of a product of matrices with one column: gamma_{n+2} (|alpha| |A| |x| + |beta| |y|), whatever
  /// the order of the sums is (Higham, section 3.5), and the rounding to the storage type.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const product what(choice);
    const long double alpha = as_computed(choice.type, what.alpha);
    const long double beta = as_computed(choice.type, what.beta);
    const long double growth = gamma(compute_type(choice.type), static_cast<double>(what.n) + 2);
    // x is the transposed matrix of one row, which is read in one go.
    const product_reference tile(choice.type, inputs, part, {what.m, 1, what.n, what.trans_a, true});
    std::vector<double> old(static_cast<std::size_t>(tile.rows()));
    if (beta != 0) inputs.read(2, tile.first_row(), old);
    for (std::int64_t i = 0; i < tile.rows(); ++i) {
      const long double addend = beta * static_cast<long double>(old[static_cast<std::size_t>(i)]);
      const long double value = alpha * tile.sum(i, 0) + addend;
      const long double bound = growth * (std::fabs(alpha) * tile.sum_of_magnitudes(i, 0) + std::fabs(addend));
      out.push_back({2, tile.first_row() + i, value, stored_bound(choice.type, value, bound)});
    }
  }

  std::string implementation_name(const specification& choice) const override {
    const product what(choice);
    const array_ref a =
        placed(choice.type, choice.layout, what.trans_a ? what.n : what.m, what.trans_a ? what.m : what.n);
    const array_ref x = placed(choice.type, choice.layout, what.n);
    const array_ref y = placed(choice.type, choice.layout, what.m);
    return std::string(gemv_implementation(Exec{}, what.trans_a ? transposition::yes : transposition::no, what.alpha, a,
                                           x, what.beta, y, options_of(choice)));
  }

  /// Libraries cannot be run with counting scalars.
  std::string counted_implementation() const override { return "portable"; }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override { return product(choice).counts(); }

 private:
  template <class T>
  static flop_counts count_with(const specification& choice) {
    const product what(choice);
    const input_values inputs(choice);
    const auto a = counted_values<T>(inputs, 0, what.m * what.n);
    const auto x = counted_values<T>(inputs, 1, what.n);
    auto y = counted_values<T>(inputs, 2, what.m);
    flop_counts counts;
    const counting_scope scope(counts);
    backend::gemv_problem<counted<T>> problem;
    problem.m = what.m;
    problem.n = what.n;
    problem.alpha = static_cast<T>(what.alpha);
    problem.beta = static_cast<T>(what.beta);
    problem.a = {a.data(), what.trans_a ? 1 : what.n, what.trans_a ? what.m : 1, 0};
    problem.x = x.data();
    problem.y = y.data();
    backend::run_canonical_gemv(problem);
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(gemv, prumo::cases::gemv_case)
