// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The case of an element-wise operation: what differs between add and tanh is a few lines.

#include <prumo/case/operation_case.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/detail/elementwise_kernel.hpp>
#include <prumo/math.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace prumo::cases {

/// A single operation of one kind: what many formulas cost an element.
constexpr flop_counts one(flop_kind kind) {
  flop_counts counts;
  counts[kind] = 1;
  return counts;
}

/// Arrays x, y, ... of n elements each; the output comes last.
///
/// `Derived` gives
/// - `case_info info() const`, made with elementwise_info();
/// - `static void call(instance_ref, const parameters&, inputs..., output)`, which calls the operation with
///   `const array_ref&`s;
/// - `template <class C> static auto formula(const parameters&)`, the function object of the kernel; or
///   `static flop_counts count_call(const specification&)` if the parameters decide which formula runs;
/// - `static long double exact(const long double* inputs, const specification&)`;
/// - `static constexpr double ulps`, the largest error in the compute type in units in the last place; or
///   `static long double bound(inputs, const specification&, long double exact)` if the bound has another form;
/// - optionally `static constexpr flop_counts per_element()`, or the same with the parameters as an argument: the
///   operations of one element, counted by hand. A count that differs from the kernel's is an error wherever it is
///   used. Without it the kernel is run on one element;
/// - where it differs: `domain`, which numbers the inputs hold; `output_of<T>`, the type of the output;
///   `inputs_read(const parameters&)`.
template <class Derived, class Exec, std::size_t Inputs>
class elementwise_case : public operation_case<Exec> {
 public:
  static constexpr input_domain domain = input_domain::symmetric;
  template <class T>
  using output_of = T;
  static std::size_t inputs_read(const parameters&) { return Inputs; }
  static long double bound(const long double*, const specification& choice, long double exact) {
    return rounded_bound(choice.type, exact, Derived::ulps);
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_vector(this->info().op, type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    static constexpr const char* input_names[] = {"x", "y", "z"};
    std::vector<array_specification> result;
    for (std::size_t which = 0; which != Inputs; ++which) {
      result.push_back({input_names[which], array_role::input, {extents.at("n")}, {}, Derived::domain});
    }
    result.push_back({"output", array_role::output, {extents.at("n")}, fixed_output_type()});
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters& values) const override {
    const auto n = static_cast<double>(extents.at("n"));
    const std::size_t bytes =
        Derived::inputs_read(values) * dtype_size(type) + dtype_size(fixed_output_type().value_or(type));
    return {n * static_cast<double>(bytes), n * static_cast<double>(flops_of(type, values).total()), n};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      Derived::call(ctx, choice.values, arrays[I]...);
    }(std::make_index_sequence<Inputs + 1>{});
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return (extents.at("n") + part_elements - 1) / part_elements;
  }

  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 50.0 * static_cast<double>(std::min(extents.at("n"), part_elements));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t begin = part * part_elements;
    const std::int64_t end = std::min(choice.shape.at("n"), begin + part_elements);
    std::array<std::vector<double>, Inputs> values;
    for (std::size_t which = 0; which != Inputs; ++which) {
      values[which].resize(static_cast<std::size_t>(end - begin));
      read_input(inputs, which, begin, values[which]);
    }
    for (std::int64_t index = begin; index < end; ++index) {
      long double arguments[Inputs + 1] = {};
      for (std::size_t which = 0; which != Inputs; ++which) {
        arguments[which] = static_cast<long double>(values[which][static_cast<std::size_t>(index - begin)]);
      }
      const long double exact = Derived::exact(arguments, choice);
      out.push_back({Inputs, index, exact, Derived::bound(arguments, choice, exact)});
    }
  }

  flop_counts count_kernel(const specification& choice) const override { return Derived::count_call(choice); }

  flop_counts count_closed_form(const specification& choice) const override {
    return flops_of(choice.type, choice.values) * static_cast<std::uint64_t>(choice.shape.at("n"));
  }

 protected:
  /// An info with what all element-wise operations have in common.
  static case_info elementwise_info(std::string op, std::string description) {
    case_info result;
    result.op = std::move(op);
    result.description = std::move(description);
    result.axes = {{"n", "elements of each array", 0}};
    result.in_default_sweep = true;
    return result;
  }

  static flop_counts count_call(const specification& choice) {
    return count_formula<Inputs>(choice, [&]<class C>(C) { return Derived::template formula<C>(choice.values); });
  }

  /// Runs the contiguous host kernel of `make_formula(C{})`, C the counting scalar, over the first `Read` inputs.
  template <std::size_t Read, class MakeFormula>
  static flop_counts count_formula(const specification& choice, const MakeFormula& make_formula) {
    flop_counts counts;
    if (choice.type == dtype::f64) {
      count_with<Read, double>(choice, make_formula, counts);
    } else {
      count_with<Read, float>(choice, make_formula, counts);
    }
    return counts;
  }

 private:
  // Nothing but Derived may be built on it.
  elementwise_case() = default;
  friend Derived;

  static constexpr std::int64_t part_elements = 4096;

  /// The output's type where it does not depend on the case's.
  static std::optional<dtype> fixed_output_type() {
    using of_float = typename Derived::template output_of<float>;
    using of_double = typename Derived::template output_of<double>;
    if constexpr (std::is_same_v<of_float, of_double>) return scalar_traits<of_float>::type;
    return std::nullopt;
  }

  /// The operations of one element.
  static flop_counts flops_of([[maybe_unused]] dtype type, [[maybe_unused]] const parameters& values) {
    if constexpr (requires { Derived::per_element(values); }) {
      return Derived::per_element(values);
    } else if constexpr (requires { Derived::per_element(); }) {
      return Derived::per_element();
    } else {
      specification one_element;
      one_element.type = type;
      one_element.values = values;
      one_element.shape = {{"n", 1}};
      return Derived::count_call(one_element);
    }
  }

  /// Elements of an input as the case's arrays hold them.
  static void read_input(const input_values& inputs, std::size_t which, std::int64_t begin, std::span<double> out) {
    inputs.read(which, begin, out);
    if constexpr (Derived::domain == input_domain::positive) {
      for (double& value : out) value = std::fabs(value);
    }
  }

  /// Runs the kernel block by block over the case's data, a part at a time in bounded memory.
  template <std::size_t Read, class T, class MakeFormula>
  static void count_with(const specification& choice, const MakeFormula& make_formula, flop_counts& counts) {
    using counting = counted<T>;
    const auto formula = make_formula(counting{});
    const input_values values(choice);
    const std::int64_t n = choice.shape.at("n");
    std::array<std::vector<counting>, Read + 1> buffers;
    for (auto& buffer : buffers) buffer.resize(static_cast<std::size_t>(std::min(n, part_elements)));
    std::vector<double> numbers;
    for (std::int64_t begin = 0; begin < n; begin += part_elements) {
      const std::int64_t count = std::min(part_elements, n - begin);
      numbers.resize(static_cast<std::size_t>(count));
      for (std::size_t which = 0; which != Read; ++which) {
        read_input(values, which, begin, numbers);
        std::transform(numbers.begin(), numbers.end(), buffers[which].begin(),
                       [](double number) { return counting(static_cast<T>(number)); });
      }
      run_counting(formula, buffers, count, counts, std::make_index_sequence<Read>{});
    }
  }

  template <class Formula, class Counting, std::size_t Arrays, std::size_t... I>
  static void run_counting(const Formula& formula, std::array<std::vector<Counting>, Arrays>& buffers,
                           std::int64_t count, flop_counts& counts, std::index_sequence<I...>) {
    using pointers = detail_pointers<Counting, I...>;
    const prumo::detail::contiguous_host_kernel<Formula, Counting, element<Counting, I>...> kernel(
        formula, {buffers.back().data()}, typename pointers::type{{buffers[I].data()...}}, count, 1, false);
    const counting_scope scope(counts);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
  }

  template <class T, std::size_t>
  using element = T;
  template <class T, std::size_t... I>
  struct detail_pointers {
    using type = prumo::detail::input_pointers<element<T, I>...>;
  };
};

}  // namespace prumo::cases
