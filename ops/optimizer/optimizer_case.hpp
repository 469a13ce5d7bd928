// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the cases of optimizers have in common.

#include "optimizer_formulas.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/detail/elementwise_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::cases {

/// What the optimizers have in common. `Derived` gives `numbers`, the numbers in memory that come first among the
/// arrays; `state`, the names of the optimizer's own arrays; info(), per_element(), formula(), run() and entries().
/// The arrays are the numbers, the gradients, the optimizer's own, and the weights.
template <class Derived, class Exec>
class optimizer_case : public operation_case<Exec> {
 public:
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_vector(this->info().op, type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::int64_t n = extents.at("n");
    std::vector<array_specification> result;
    for (const char* const name : Derived::numbers) {
      result.push_back({name, array_role::input, {1}, dtype::f64, input_domain::positive});
    }
    result.push_back({"gradients", array_role::input, {n}});
    for (const char* const name : Derived::state) {
      const bool is_square = std::string_view(name) == "square";
      result.push_back(
          {name, array_role::input_output, {n}, {}, is_square ? input_domain::positive : input_domain::symmetric});
    }
    return result;
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto n = static_cast<double>(extents.at("n"));
    const double moved = 1 + 2 * static_cast<double>(std::size(Derived::state));
    return {n * moved * static_cast<double>(dtype_size(type)), n * static_cast<double>(Derived::per_element().total()),
            n};
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return (extents.at("n") + part_elements - 1) / part_elements;
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 100.0 * static_cast<double>(std::min(extents.at("n"), part_elements));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t begin = part * part_elements;
    const std::int64_t end = std::min(choice.shape.at("n"), begin + part_elements);
    constexpr std::size_t first = std::size(Derived::numbers), count = 1 + std::size(Derived::state);
    std::vector<double> values[count];
    for (std::size_t which = 0; which < count; ++which) {
      values[which].resize(static_cast<std::size_t>(end - begin));
      inputs.read(first + which, begin, values[which]);
    }
    const typename Derived::exact_step step(choice, inputs);
    for (std::int64_t index = begin; index < end; ++index) {
      long double arguments[count];
      for (std::size_t which = 0; which < count; ++which) {
        arguments[which] = static_cast<long double>(values[which][static_cast<std::size_t>(index - begin)]);
      }
      std::size_t which = first + 1;
      for (const auto& [value, bound] : step.results(arguments)) {
        out.push_back({which++, index, value, stored_bound(choice.type, value, bound)});
      }
    }
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }
  flop_counts count_closed_form(const specification& choice) const override {
    return Derived::per_element() * static_cast<std::uint64_t>(choice.shape.at("n"));
  }

 protected:
  static case_info optimizer_info(std::string op, std::string description) {
    case_info result;
    result.op = std::move(op);
    result.description = std::move(description);
    result.axes = {{"n", "weights", 0}};
    return result;
  }

  /// A number in memory, by its place among the arrays.
  static double number(const input_values& inputs, std::size_t which) {
    return std::fabs(inputs.of_type(dtype::f64).at(which, 0));
  }

  /// An exact result and its bound.
  struct result_entry {
    long double value;
    long double bound;
  };

 private:
  // Nothing but Derived may be built on it.
  optimizer_case() = default;
  friend Derived;

  static constexpr std::int64_t part_elements = 4096;

  template <class T>
  static flop_counts count_with(const specification& choice) {
    using counting = counted<T>;
    constexpr std::size_t first = std::size(Derived::numbers), states = std::size(Derived::state);
    const std::int64_t n = choice.shape.at("n");
    const input_values inputs(choice);
    std::vector<counting> values[1 + states];
    for (std::size_t which = 0; which <= states; ++which) values[which] = counted_values<T>(inputs, first + which, n);
    flop_counts counts;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      using formula_type = decltype(Derived::template formula<counting>(choice));
      using outputs = typename outputs_of<counting, I...>::type;
      const prumo::detail::output_pointers<outputs> to{values[1 + I].data()...};
      const prumo::detail::input_pointers<counting, same<counting, I>...> from{
          {values[0].data(), values[1 + I].data()...}};
      const prumo::detail::contiguous_host_kernel<formula_type, outputs, counting, same<counting, I>...> kernel(
          Derived::template formula<counting>(choice), to, from, n, 1, false);
      const counting_scope scope(counts);
      for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    }(std::make_index_sequence<states>{});
    return counts;
  }

  template <class T, std::size_t>
  using same = T;
  template <class T, std::size_t... I>
  struct outputs_of {
    using type = values<same<T, I>...>;
  };
  template <class T, std::size_t I>
  struct outputs_of<T, I> {
    using type = T;
  };
};

}  // namespace prumo::cases
