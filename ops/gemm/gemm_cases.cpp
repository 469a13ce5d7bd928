// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_problem.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/gemm.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace prumo::cases {
namespace {

/// Which bias a choice adds.
enum class bias_kind : std::uint8_t { none, of_columns, of_rows };

/// The value of a parameter that names one of `count` things.
template <class Enumeration>
Enumeration choice_of(const parameters& values, const char* name, int count) {
  const double value = values.at(name);
  if (value >= 0 && value < count && value == std::floor(value)) return static_cast<Enumeration>(value);
  throw argument_error(std::string("gemm: parameter ") + name + " is a whole number from 0 to " +
                       std::to_string(count - 1) + "; it is " + std::to_string(value));
}

/// The extents and parameters of a choice.
struct product {
  std::int64_t batch, m, n, k;
  double alpha, beta;
  bool trans_a, trans_b;
  bias_kind bias;
  activation_function activation;

  product(const shape& extents, const parameters& values)
      : batch(extents.contains("batch") ? extents.at("batch") : 1),
        m(extents.at("m")),
        n(extents.at("n")),
        k(extents.at("k")),
        alpha(values.at("alpha")),
        beta(values.at("beta")),
        trans_a(values.at("trans_a") != 0),
        trans_b(values.at("trans_b") != 0),
        bias(choice_of<bias_kind>(values, "bias", 3)),
        activation(choice_of<activation_function>(values, "activation", 6)) {}
  explicit product(const specification& choice) : product(choice.shape, choice.values) {}

  bool has_bias() const { return bias != bias_kind::none; }
  std::int64_t bias_entries() const { return bias == bias_kind::of_rows ? m : n; }
  flop_counts counts() const {
    return backend::canonical_gemm_counts(m, n, k, batch, alpha, beta, has_bias(), activation);
  }
};

/// The problem of a choice in row-major arrays at the given addresses. The matrices of a batch are stacked: the rows of
/// one follow those of another.
template <class T>
backend::gemm_problem<T> problem_of(const product& what, const T* a, const T* b, T* c, const T* bias) {
  using parameter_type = typename backend::gemm_problem<T>::parameter_type;
  const auto placed = []<class Element>(Element* data, std::int64_t rows, std::int64_t columns, bool transposed) {
    const backend::gemm_matrix<Element> matrix{data, transposed ? rows : columns, 1, rows * columns};
    return transposed ? matrix.transposed() : matrix;
  };
  backend::gemm_problem<T> problem;
  problem.m = what.m;
  problem.n = what.n;
  problem.k = what.k;
  problem.batch = what.batch;
  problem.alpha = static_cast<parameter_type>(what.alpha);
  problem.beta = static_cast<parameter_type>(what.beta);
  problem.a = placed(a, what.m, what.k, what.trans_a);
  problem.b = placed(b, what.k, what.n, what.trans_b);
  problem.c = placed(c, what.m, what.n, false);
  problem.activation = what.activation;
  problem.has_bias = what.has_bias();
  problem.bias = {bias, what.bias == bias_kind::of_rows, what.bias == bias_kind::of_columns, 0};
  return problem;
}

/// Matrices of `rows` rows each, stacked in an array: a matrix where there is one, else a batch.
template <bool IsBatched>
array_ref stacked(void* data, dtype type, memory_kind memory, std::int64_t batch, std::int64_t rows,
                  std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  if constexpr (IsBatched) {
    return {data, type, {batch, rows, columns}, {rows * row_stride, row_stride, column_stride}, memory};
  } else {
    return {data, type, {rows, columns}, {row_stride, column_stride}, memory};
  }
}

/// The arguments of a call of a choice: in the arrays of a case while it runs, or in nobody's memory.
template <bool IsBatched>
struct operands {
  array_ref a, b, c, bias;

  operands(const product& what, dtype type, case_arrays arrays) {
    place(what, type, [&](std::size_t which, dtype element, std::int64_t rows, std::int64_t columns) {
      const array_ref& array = arrays[which];
      return stacked<IsBatched>(array.data, element, array.memory, what.batch, rows, columns, array.strides[0],
                                array.strides[1]);
    });
    if (what.has_bias()) bias = arrays[3];
  }

  operands(const product& what, dtype type, array_layout layout) {
    place(what, type, [&](std::size_t, dtype element, std::int64_t rows, std::int64_t columns) {
      const bool is_left = layout == array_layout::left;
      const bool is_strided = layout == array_layout::strided;
      const std::int64_t row_stride = is_left ? 1 : is_strided ? 2 * columns + 3 : columns;
      const std::int64_t column_stride = is_left ? what.batch * rows : is_strided ? 2 : 1;
      return stacked<IsBatched>(nullptr, element, memory_kind::other, what.batch, rows, columns, row_stride,
                                column_stride);
    });
    bias = array_ref(nullptr, c.type, {what.bias_entries()}, {layout == array_layout::strided ? 2 : 1});
  }

 private:
  template <class Of>
  void place(const product& what, dtype type, const Of& of) {
    a = of(0, type, what.trans_a ? what.k : what.m, what.trans_a ? what.m : what.k);
    b = of(1, type, what.trans_b ? what.n : what.k, what.trans_b ? what.k : what.n);
    c = of(2, product_result_type(type), what.m, what.n);
  }
};

transposition as_transposition(bool transposed) { return transposed ? transposition::yes : transposition::no; }

constexpr gemm_mode fast_modes[] = {gemm_mode::fast_tf32, gemm_mode::fast_bf16, gemm_mode::fast_f16,
                                    gemm_mode::fast_accumulation};

/// Units for f8 take operands that are contiguous along the sums.
double trans_a_of(dtype type, array_layout layout) {
  return type == dtype::f8_e4m3 && layout == array_layout::left ? 1 : 0;
}
double trans_b_of(dtype type, array_layout layout) {
  return type == dtype::f8_e4m3 && layout != array_layout::left ? 1 : 0;
}

/// The largest relative error of an input that a mode rounds: of one unit in the last place, since units of some
/// devices cut digits off.
long double input_error(gemm_mode mode) {
  switch (mode) {
    case gemm_mode::strict:
    case gemm_mode::fast_accumulation: return 0;
    case gemm_mode::fast_tf32:
    case gemm_mode::fast_f16: return 0x1p-10L;
    case gemm_mode::fast_bf16: return 0x1p-7L;
  }
  return 0;
}

gemm_mode mode_of(const specification& choice) {
  for (const gemm_mode mode : fast_modes) {
    if (choice.compute_mode == gemm_mode_name(mode)) return mode;
  }
  return gemm_mode::strict;
}

gemm_options options_of(const specification& choice, const product& what, const array_ref& bias) {
  gemm_options options;
  if (choice.implementation != "auto") options.implementation = choice.implementation;
  options.mode = mode_of(choice);
  options.activation = what.activation;
  if (what.bias == bias_kind::of_columns) options.column_bias = bias;
  if (what.bias == bias_kind::of_rows) options.row_bias = bias;
  return options;
}

/// act(x) in higher precision.
long double exactly_activated(activation_function function, long double x) {
  switch (function) {
    case activation_function::none: break;
    case activation_function::relu: return std::max(x, 0.0L);
    case activation_function::sigmoid: return 1 / (1 + std::exp(-x));
    case activation_function::tanh: return std::tanh(x);
    case activation_function::gelu: return 0.5L * x * std::erfc(-x * std::numbers::sqrt2_v<long double> / 2);
    case activation_function::gelu_by_tanh: {
      const long double slope = 2 * std::sqrt(2 * std::numbers::inv_pi_v<long double>);
      return x / (1 + std::exp(-slope * x * (1 + 0.044715L * x * x)));
    }
  }
  return x;
}

/// The bound of an activation of an x that is off by `absolute`, before it is stored: the largest slope of the function
/// carries the error over, and the function has one of its own (<prumo/math.hpp>).
long double activated_bound(activation_function function, dtype result_type, long double x, long double absolute) {
  const dtype computed = compute_type(result_type);
  const long double value = exactly_activated(function, x);
  const long double largest = std::fabs(x) + absolute;
  constexpr long double slope_of_gelu = 1.13L;
  const long double gelu = slope_of_gelu * absolute + 4 * unit_roundoff(computed) * largest;
  switch (function) {
    case activation_function::none:
    case activation_function::relu: break;
    case activation_function::sigmoid: return absolute / 4 + 3 * ulp(computed, value);
    case activation_function::tanh: return absolute + 2 * ulp(computed, value);
    case activation_function::gelu:
    case activation_function::gelu_by_tanh: return gelu;
  }
  return absolute;
}

/// One product, or a batch of many small ones.
template <class Exec, bool IsBatched>
class product_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = name;
    result.description = IsBatched ? "C_i = alpha op(A_i) op(B_i) + beta C_i" : "C = alpha op(A) op(B) + beta C";
    if (IsBatched) result.axes.push_back({"batch", "products", 0});
    constexpr std::int64_t extent = IsBatched ? batched_extent : 0;
    result.axes.push_back({"m", "rows of C", extent});
    result.axes.push_back({"n", "columns of C", extent});
    result.axes.push_back({"k", "columns of op(A), rows of op(B)", extent});
    result.values = {
        {"alpha", "the factor of the product", 1},
        {"beta", "the factor of the old C", 0},
        {"trans_a", "1 where A is stored transposed", 0, trans_a_of, {0, 1}},
        {"trans_b", "1 where B is stored transposed", 0, trans_b_of, {0, 1}},
        {"bias", "0 none, 1 of the columns of C, 2 of the rows", 0, nullptr, {1, 2}},
        {"activation", "0 none, 1 relu, 2 sigmoid, 3 tanh, 4 gelu, 5 gelu by tanh", 0, nullptr, {1, 2, 3, 4, 5}}};
    result.types.push_back(dtype::f8_e4m3);
    result.implementations = {"auto"};
    for (const std::string_view each : gemm_implementations(space, dtype::f32)) {
      result.implementations.emplace_back(each);
    }
    if (!is_host_space<Exec>) {
      for (const gemm_mode mode : fast_modes) result.compute_modes.emplace_back(gemm_mode_name(mode));
    }
    result.in_default_sweep = !IsBatched;
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    const case_info own = info();
    for (const auto& [axis_name, extent] : given) {
      const auto is_it = [&](const axis& each) { return each.name == axis_name; };
      if (std::ranges::none_of(own.axes, is_it)) {
        throw argument_error(std::string(name) + ": there is no axis '" + axis_name + "'; the axes are " +
                             (IsBatched ? "batch, m, n, k" : "m, n, k"));
      }
      if (extent < 0) throw argument_error(std::string(name) + ": axis " + axis_name + " is negative");
    }
    const std::int64_t elements = bytes_per_array / static_cast<std::int64_t>(dtype_size(type));
    const auto need_size = [&](const char* axis_name) {
      if (given.contains(axis_name) || bytes_per_array > 0) return;
      throw argument_error(std::string(name) + ": axis " + axis_name + " is not given and neither is a size");
    };
    std::int64_t side = batched_extent;
    if (!IsBatched) {
      side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
      while (side * side > elements) --side;
      // What cuBLASLt takes: lines of 16 bytes.
      if (type == dtype::f8_e4m3 && side > 16) side -= side % 16;
    }
    shape extents;
    for (const char* const axis_name : {"m", "n", "k"}) {
      if (!IsBatched) need_size(axis_name);
      extents.set(axis_name, given.contains(axis_name) ? given.at(axis_name) : side);
    }
    if (!IsBatched) return extents;
    need_size("batch");
    const std::int64_t m = extents.at("m"), n = extents.at("n"), k = extents.at("k");
    const std::int64_t largest = std::max({std::int64_t{1}, m * k, k * n, m * n});
    const std::int64_t batch =
        given.contains("batch") ? given.at("batch") : std::max<std::int64_t>(1, elements / largest);
    return {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}};
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const auto stored = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
      return transposed ? std::vector<std::int64_t>{what.batch * columns, rows}
                        : std::vector<std::int64_t>{what.batch * rows, columns};
    };
    std::vector<array_specification> result = {{"A", array_role::input, stored(what.m, what.k, what.trans_a)},
                                               {"B", array_role::input, stored(what.k, what.n, what.trans_b)},
                                               {.name = "C",
                                                .role = what.beta == 0 ? array_role::output : array_role::input_output,
                                                .extents = stored(what.m, what.n, false),
                                                .is_product_result = true}};
    if (what.has_bias()) {
      result.push_back({.name = "bias", .extents = {what.bias_entries()}, .is_product_result = true});
    }
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const auto batch = static_cast<double>(what.batch);
    const auto m = static_cast<double>(what.m);
    const auto n = static_cast<double>(what.n);
    const auto k = static_cast<double>(what.k);
    const double inputs = what.alpha == 0 ? 0 : batch * (m * k + k * n);
    const double outputs =
        (what.beta == 0 ? 1 : 2) * batch * m * n + (what.has_bias() ? static_cast<double>(what.bias_entries()) : 0);
    const double bytes = inputs * static_cast<double>(dtype_size(type)) +
                         outputs * static_cast<double>(dtype_size(product_result_type(type)));
    return {bytes, static_cast<double>(what.counts().total()), batch * m * n, "tensor"};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const product what(choice);
    const operands<IsBatched> of(what, choice.type, arrays);
    gemm(ctx, as_transposition(what.trans_a), as_transposition(what.trans_b), what.alpha, of.a, of.b, what.beta, of.c,
         options_of(choice, what, of.bias));
  }

  std::int64_t reference_parts(const shape& extents, const parameters& values) const override {
    return product(extents, values).batch * product_reference::parts(extents.at("m"), extents.at("n"));
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return product_reference::part_cost(extents.at("m"), extents.at("n"), extents.at("k"));
  }

  /// The bound: each product reaches C through at most k + 1 additions (of k products, the old C and the bias, in
  /// whatever order and blocks), its own rounding, and those of alpha or beta, so the error is below gamma_{k+3}
  /// (|alpha| |A| |B| + |beta| |C| + |bias|), with one less where there is no bias; Higham, section 3.5. The activation
  /// follows, activated_bound(). Then C is rounded to its storage type. A mode that rounds
  /// inputs by e at most adds (2 e + e^2) |alpha| |A| |B|. Sums of f8 products pass through units that keep fewer bits:
  /// product_reference::cut_off(), of 128 products at a time in mode strict, which is how often CUTLASS and others
  /// promote them, and of all in mode fast_accumulation.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const product what(choice);
    const long double alpha = as_computed(choice.type, what.alpha);
    const long double beta = as_computed(choice.type, what.beta);
    const gemm_mode mode = mode_of(choice);
    const long double e = input_error(mode);
    const long double growth =
        gamma(compute_type(choice.type), static_cast<double>(what.k) + (what.has_bias() ? 3 : 2));
    const std::int64_t parts = product_reference::parts(what.m, what.n);
    const std::int64_t which = part / parts;
    product_reference::extents whole{what.m, what.n, what.k, what.trans_a, what.trans_b, which};
    if (mode == gemm_mode::fast_accumulation) whole.stretch = std::max<std::int64_t>(1, what.k);
    const product_reference tile(choice.type, inputs, part % parts, whole);
    const dtype result_type = product_result_type(choice.type);
    const input_values results = inputs.of_type(result_type);
    std::vector<double> old(static_cast<std::size_t>(tile.columns()));
    std::vector<double> bias(static_cast<std::size_t>(what.has_bias() ? what.bias_entries() : 0));
    results.read(3, 0, bias);
    for (std::int64_t i = 0; i < tile.rows(); ++i) {
      const std::int64_t first = (which * what.m + tile.first_row() + i) * what.n + tile.first_column();
      if (beta != 0) results.read(2, first, old);
      for (std::int64_t j = 0; j < tile.columns(); ++j) {
        const long double addend = beta * static_cast<long double>(old[static_cast<std::size_t>(j)]);
        const std::int64_t place = what.bias == bias_kind::of_rows ? tile.first_row() + i : tile.first_column() + j;
        const long double added = what.has_bias() ? static_cast<long double>(bias[static_cast<std::size_t>(place)]) : 0;
        const long double value = alpha * tile.sum(i, j) + addend + added;
        const long double products = std::fabs(alpha) * tile.sum_of_magnitudes(i, j);
        const long double bound = growth * (products + std::fabs(addend) + std::fabs(added)) +
                                  (2 * e + e * e) * products + std::fabs(alpha) * tile.cut_off(i, j);
        const long double result = exactly_activated(what.activation, value);
        out.push_back({2, first + j, result,
                       stored_bound(result_type, result, activated_bound(what.activation, result_type, value, bound))});
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
    const product what(choice);
    const operands<IsBatched> of(what, choice.type, choice.layout);
    return std::string(gemm_implementation(Exec{}, as_transposition(what.trans_a), as_transposition(what.trans_b),
                                           what.alpha, of.a, of.b, what.beta, of.c, options_of(choice, what, of.bias)));
  }

  std::string_view unit(const specification& choice) const override {
    return gemm_uses_matrix_units(space, choice.type, implementation_name(choice)) ? "tensor" : "vector";
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override { return product(choice).counts(); }

 private:
  static constexpr space_kind space = prumo::detail::space_kind_of<Exec>::value;
  static constexpr const char* name = IsBatched ? "batched_gemm" : "gemm";
  /// Of matrices that are small as users' are: elements, blocks of a preconditioner, heads of attention.
  static constexpr std::int64_t batched_extent = 32;

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const product what(choice);
    const input_values inputs(choice);
    const auto a = counted_values<T>(inputs, 0, what.batch * what.m * what.k);
    const auto b = counted_values<T>(inputs, 1, what.batch * what.k * what.n);
    auto c = counted_values<T>(inputs, 2, what.batch * what.m * what.n);
    const auto bias = counted_values<T>(inputs, 3, what.has_bias() ? what.bias_entries() : 0);
    const auto problem = problem_of<counted<T>>(what, a.data(), b.data(), c.data(), bias.data());
    flop_counts counts;
    const counting_scope scope(counts);
    backend::run_canonical_gemm(problem);
    return counts;
  }
};

template <class Exec>
using gemm_case = product_case<Exec, false>;
template <class Exec>
using batched_gemm_case = product_case<Exec, true>;

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(gemm, prumo::cases::gemm_case, prumo::cases::batched_gemm_case)
