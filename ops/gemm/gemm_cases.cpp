// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gemm_choice.hpp"
#include "gemm_reference.hpp"
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace prumo::cases {
namespace {

/// Units for f8 need operands that are contiguous along the sums.
double trans_a_of(dtype type, array_layout layout) {
  return type == dtype::f8_e4m3 && layout == array_layout::left ? 1 : 0;
}
double trans_b_of(dtype type, array_layout layout) {
  return type == dtype::f8_e4m3 && layout != array_layout::left ? 1 : 0;
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
      throw argument_error(std::string(name) + ": axis " + axis_name + " is missing; give it, or a size");
    };
    std::int64_t side = batched_extent;
    if (!IsBatched) {
      side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
      while (side * side > elements) --side;
      // cuBLASLt needs lines of 16 bytes.
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
    const gemm_choice what(extents, values);
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
    const gemm_choice what(extents, values);
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
    repeatable_call(ctx, choice, arrays)();
  }

  std::function<void()> repeatable_call(context<Exec>& ctx, const specification& choice,
                                        case_arrays arrays) const override {
    const gemm_choice what(choice);
    gemm_operands<IsBatched> of(what, choice.type, arrays);
    return [what, of, options = options_of(choice, what, of.bias), arrays, &ctx]() mutable {
      of.move_to(arrays);
      set_bias(options, what, of.bias);
      gemm(ctx, as_transposition(what.trans_a), as_transposition(what.trans_b), what.alpha, of.a, of.b, what.beta, of.c,
           options);
    };
  }

  std::int64_t reference_parts(const shape& extents, const parameters& values) const override {
    return gemm_choice(extents, values).batch * product_reference::parts(extents.at("m"), extents.at("n"));
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return product_reference::part_cost(extents.at("m"), extents.at("n"), extents.at("k"));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    append_gemm_reference(choice, inputs, part, out);
  }

  std::string implementation_name(const specification& choice) const override {
    const gemm_choice what(choice);
    const gemm_operands<IsBatched> of(what, choice.type, choice.layout);
    return std::string(gemm_implementation(Exec{}, as_transposition(what.trans_a), as_transposition(what.trans_b),
                                           what.alpha, of.a, of.b, what.beta, of.c, options_of(choice, what, of.bias)));
  }

  std::string_view unit(const specification& choice) const override {
    return gemm_uses_matrix_units(space, choice.type, implementation_name(choice)) ? "tensor" : "vector";
  }

  /// Libraries cannot be run with counting scalars.
  std::string counted_implementation() const override { return "portable"; }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override { return gemm_choice(choice).counts(); }

 private:
  static constexpr space_kind space = prumo::detail::space_kind_of<Exec>::value;
  static constexpr const char* name = IsBatched ? "batched_gemm" : "gemm";
  /// The matrices are as small as those of users: elements, blocks of a preconditioner, heads of attention.
  static constexpr std::int64_t batched_extent = 32;

  template <class T>
  static flop_counts count_with(const specification& choice) {
    const gemm_choice what(choice);
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
