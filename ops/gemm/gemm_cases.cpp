// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/gemm.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::cases {
namespace {

/// The extents and parameters of a choice.
struct product {
  std::int64_t batch, m, n, k;
  double alpha, beta;
  bool trans_a, trans_b;

  product(const shape& extents, const parameters& values)
      : batch(extents.contains("batch") ? extents.at("batch") : 1),
        m(extents.at("m")),
        n(extents.at("n")),
        k(extents.at("k")),
        alpha(values.at("alpha")),
        beta(values.at("beta")),
        trans_a(values.at("trans_a") != 0),
        trans_b(values.at("trans_b") != 0) {}
  explicit product(const specification& choice) : product(choice.shape, choice.values) {}

  flop_counts counts() const { return backend::canonical_gemm_counts(m, n, k, batch, alpha, beta); }
};

/// The problem of a choice in arrays of one layout at the given addresses. The matrices of a batch are stacked: the
/// rows of one follow those of another.
template <class T>
backend::gemm_problem<T> problem_of(const product& what, array_layout layout, const T* a, const T* b,
                                    product_result_t<T>* c) {
  using parameter_type = typename backend::gemm_problem<T>::parameter_type;
  const auto placed = [&]<class Element>(Element* data, std::int64_t rows, std::int64_t columns, bool transposed) {
    const std::int64_t stored_rows = transposed ? columns : rows;
    const std::int64_t stored_columns = transposed ? rows : columns;
    backend::gemm_matrix<Element> matrix{data, stored_columns, 1, 0};
    if (layout == array_layout::left) matrix = {data, 1, what.batch * stored_rows, 0};
    if (layout == array_layout::strided) matrix = {data, 2 * stored_columns + 3, 2, 0};
    matrix.batch_stride = stored_rows * matrix.row_stride;
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
  return problem;
}

/// Matrices of `rows` rows each, stacked in an array.
template <class T, class Exec>
auto as_batch(const case_arrays<Exec>& arrays, std::size_t which, std::int64_t batch, std::int64_t rows) {
  const auto& entry = arrays.entries[which];
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  return Kokkos::View<T***, Kokkos::LayoutStride, typename Exec::memory_space, Kokkos::MemoryUnmanaged>(
      static_cast<T*>(entry.data),
      Kokkos::LayoutStride(size(batch), size(rows * entry.strides[0]), size(rows), size(entry.strides[0]),
                           size(entry.extents[1]), size(entry.strides[1])));
}

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

gemm_options options_of(const specification& choice) {
  gemm_options options;
  if (choice.implementation != "auto") options.implementation = choice.implementation;
  for (const gemm_mode mode : fast_modes) {
    if (choice.compute_mode == gemm_mode_name(mode)) options.mode = mode;
  }
  return options;
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
    result.values = {{"alpha", "the factor of the product", 1},
                     {"beta", "the factor of the old C", 0},
                     {"trans_a", "1 where A is stored transposed", 0, trans_a_of},
                     {"trans_b", "1 where B is stored transposed", 0, trans_b_of}};
    result.types.push_back(dtype::f8_e4m3);
    result.implementations = {"auto"};
    for (const std::string_view each : prumo::detail::gemm_implementations<Exec, float>()) {
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
    return {{"A", array_role::input, stored(what.m, what.k, what.trans_a)},
            {"B", array_role::input, stored(what.k, what.n, what.trans_b)},
            {.name = "C",
             .role = what.beta == 0 ? array_role::output : array_role::input_output,
             .extents = stored(what.m, what.n, false),
             .is_product_result = true}};
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const product what(extents, values);
    const auto batch = static_cast<double>(what.batch);
    const auto m = static_cast<double>(what.m);
    const auto n = static_cast<double>(what.n);
    const auto k = static_cast<double>(what.k);
    const double inputs = what.alpha == 0 ? 0 : batch * (m * k + k * n);
    const double outputs = (what.beta == 0 ? 1 : 2) * batch * m * n;
    const double bytes = inputs * static_cast<double>(dtype_size(type)) +
                         outputs * static_cast<double>(dtype_size(product_result_type(type)));
    return {bytes, static_cast<double>(what.counts().total()), batch * m * n, "tensor"};
  }

  void run(context<Exec>& ctx, const specification& choice, const case_arrays<Exec>& arrays) const override {
    const product what(choice);
    const auto as_transpose = [](bool transposed) { return transposed ? transpose::yes : transpose::no; };
    with_stored_type(choice.type, [&]<class T>(T) {
      const auto multiply = [&](const auto& a, const auto& b, const auto& c) {
        gemm(ctx, as_transpose(what.trans_a), as_transpose(what.trans_b), static_cast<compute_t<T>>(what.alpha), a, b,
             static_cast<compute_t<T>>(what.beta), c, options_of(choice));
      };
      if constexpr (IsBatched) {
        multiply(as_batch<T>(arrays, 0, what.batch, what.trans_a ? what.k : what.m),
                 as_batch<T>(arrays, 1, what.batch, what.trans_b ? what.n : what.k),
                 as_batch<product_result_t<T>>(arrays, 2, what.batch, what.m));
      } else {
        multiply(arrays.template matrix<T>(0), arrays.template matrix<T>(1),
                 arrays.template matrix<product_result_t<T>>(2));
      }
    });
  }

  std::int64_t reference_parts(const shape& extents, const parameters& values) const override {
    return product(extents, values).batch * product_reference::parts(extents.at("m"), extents.at("n"));
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return product_reference::part_cost(extents.at("m"), extents.at("n"), extents.at("k"));
  }

  /// The bound: each product reaches C through at most k additions (of k products and the old C, in whatever
  /// order and blocks), its own rounding, and those of alpha or beta, so the error is below gamma_{k+2}
  /// (|alpha| |A| |B| + |beta| |C|); Higham, section 3.5. Then C is rounded to its storage type. A mode that rounds
  /// inputs by e at most adds (2 e + e^2) |alpha| |A| |B|. Sums of f8 products pass through units that keep fewer bits:
  /// product_reference::cut_off(), of 128 products at a time in mode strict, which is how often CUTLASS and others
  /// promote them, and of all in mode fast_accumulation.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const product what(choice);
    const long double alpha = as_computed(choice.type, what.alpha);
    const long double beta = as_computed(choice.type, what.beta);
    const gemm_mode mode = options_of(choice).mode;
    const long double e = input_error(mode);
    const long double growth = gamma(compute_type(choice.type), static_cast<double>(what.k) + 2);
    const std::int64_t parts = product_reference::parts(what.m, what.n);
    const std::int64_t which = part / parts;
    product_reference::extents whole{what.m, what.n, what.k, what.trans_a, what.trans_b, which};
    if (mode == gemm_mode::fast_accumulation) whole.stretch = std::max<std::int64_t>(1, what.k);
    const product_reference tile(choice.type, inputs, part % parts, whole);
    const dtype result_type = product_result_type(choice.type);
    const input_values results = inputs.of_type(result_type);
    std::vector<double> old(static_cast<std::size_t>(tile.columns()));
    for (std::int64_t i = 0; i < tile.rows(); ++i) {
      const std::int64_t first = (which * what.m + tile.first_row() + i) * what.n + tile.first_column();
      if (beta != 0) results.read(2, first, old);
      for (std::int64_t j = 0; j < tile.columns(); ++j) {
        const long double addend = beta * static_cast<long double>(old[static_cast<std::size_t>(j)]);
        const long double value = alpha * tile.sum(i, j) + addend;
        const long double products = std::fabs(alpha) * tile.sum_of_magnitudes(i, j);
        const long double bound = growth * (products + std::fabs(addend)) + (2 * e + e * e) * products +
                                  std::fabs(alpha) * tile.cut_off(i, j);
        out.push_back({2, first + j, value, stored_bound(result_type, value, bound)});
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
    return with_stored_type(choice.type, [&]<class T>(T) {
      auto problem = problem_of<T>(product(choice), choice.layout, nullptr, nullptr, nullptr);
      problem.mode = options_of(choice).mode;
      return std::string(prumo::detail::gemm_implementation(Exec{}, problem, options_of(choice)));
    });
  }

  std::string_view unit(const specification& choice) const override {
    return with_stored_type(choice.type, [&]<class T>(T) -> std::string_view {
      return prumo::detail::gemm_uses_matrix_units<Exec, T>(implementation_name(choice)) ? "tensor" : "vector";
    });
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override { return product(choice).counts(); }

 private:
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
    const auto problem = problem_of<counted<T>>(what, array_layout::right, a.data(), b.data(), c.data());
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
