// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host/softmax_side_by_side_kernel.hpp"
#include "softmax_bounds.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/softmax.hpp>

#include <cmath>

namespace prumo::cases {
namespace {

/// Columns of one part of the reference: a long row has several, each of which looks at the whole row for its sum.
constexpr std::int64_t reference_stretch = std::int64_t{1} << 16;
std::int64_t stretches_of(std::int64_t columns) { return (columns + reference_stretch - 1) / reference_stretch; }

/// Maximum, minimum and sum of exponentials of a row of the case's data, in bounded memory.
struct exact_row {
  long double highest = -std::numeric_limits<long double>::infinity();
  long double lowest = std::numeric_limits<long double>::infinity();
  long double total = 0;

  exact_row(const input_values& inputs, std::int64_t begin, std::int64_t columns) {
    constexpr std::int64_t chunk = 4096;
    std::vector<double> numbers;
    for (std::int64_t at = 0; at < columns; at += chunk) {
      numbers.resize(static_cast<std::size_t>(std::min(chunk, columns - at)));
      inputs.read(0, begin + at, numbers);
      const auto [smallest, largest] = std::minmax_element(numbers.begin(), numbers.end());
      lowest = std::min(lowest, static_cast<long double>(*smallest));
      if (const auto top = static_cast<long double>(*largest); top > highest) {
        if (at > 0) total *= std::exp(highest - top);
        highest = top;
      }
      long double partial = 0;
      for (const double x : numbers) partial += std::exp(static_cast<long double>(x) - highest);
      total += partial;
    }
  }
};

/// What softmax and log_softmax have in common. `Derived` gives info(), call(), exact() and count_row().
template <class Derived, class Exec, class Formula>
class softmax_case_base : public operation_case<Exec> {
 public:
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_rows(this->info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::vector<std::int64_t> both{extents.at("rows"), extents.at("columns")};
    return {{"x", array_role::input, both}, {"y", array_role::output, both}};
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto rows = static_cast<double>(extents.at("rows"));
    const double elements = rows * static_cast<double>(extents.at("columns"));
    return {2 * elements * static_cast<double>(dtype_size(type)), Derived::flops_per_element * elements + rows,
            elements};
  }

  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    Derived::call(ctx, arrays[0], arrays[1]);
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("rows") * stretches_of(extents.at("columns"));
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    const std::int64_t columns = extents.at("columns");
    return 50.0 * static_cast<double>(columns) + 50.0 * static_cast<double>(std::min(columns, reference_stretch));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t columns = choice.shape.at("columns");
    const std::int64_t row = part / stretches_of(columns);
    const std::int64_t begin = (part - row * stretches_of(columns)) * reference_stretch;
    const exact_row of_row(inputs, row * columns, columns);
    softmax_bounds bounds(choice.type, choice.layout, columns, of_row.highest - of_row.lowest);
    std::vector<double> numbers(static_cast<std::size_t>(std::min(reference_stretch, columns - begin)));
    inputs.read(0, row * columns + begin, numbers);
    std::int64_t index = row * columns + begin;
    for (const double x : numbers) {
      const long double distance = of_row.highest - static_cast<long double>(x);
      const auto [value, bound] = Derived::exact(distance, of_row.total, bounds);
      out.push_back({1, index++, value, stored_bound(choice.type, value, bound)});
    }
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override {
    const auto rows = static_cast<std::uint64_t>(choice.shape.at("rows"));
    const std::int64_t columns = choice.shape.at("columns");
    if (columns == 0) return {};
    return (choice.type == dtype::f64 ? count_of_row<double>(columns) : count_of_row<float>(columns)) * rows;
  }

 protected:
  static case_info rows_info(std::string op, std::string description) {
    case_info result;
    result.op = std::move(op);
    result.description = std::move(description);
    result.axes = {{"rows", "rows of x", 0}, {"columns", "elements of a row", 1024}};
    return result;
  }

 private:
  // Nothing but Derived may be built on it.
  softmax_case_base() = default;
  friend Derived;

  static std::uint64_t whole(std::int64_t count) { return static_cast<std::uint64_t>(count); }

  /// The operations of one row by hand, as the host kernels do them.
  template <class T>
  static flop_counts count_of_row(std::int64_t columns) {
    namespace kernels = prumo::detail;
    const std::uint64_t n = whole(columns);
    flop_counts counts;
    // The shift of the values that are written.
    counts[flop_kind::compare] = 1;
    counts += Derived::count_of_factor();
    if (columns < kernels::softmax_counted_vector_row<T>) {
      counts[flop_kind::minmax] += n;
      counts[flop_kind::add] += 2 * n;  // the maximum is taken away, the exponential added
      counts[flop_kind::exp] += n;
      return counts += Derived::count_from_kept() * n;
    }
    const std::uint64_t maxima_tree = whole(kernels::reduction_lanes<T> - 1);
    const std::uint64_t sum_tree = whole(kernels::softmax_lanes<T> - 1);
    counts[flop_kind::minmax] += n;
    counts[flop_kind::add] += 2 * n;
    counts[flop_kind::exp] += n;
    if (columns <= kernels::softmax_row_at_once<Formula, T>) {
      const std::uint64_t sums = whole(kernels::softmax_sums_of_row(columns));
      counts[flop_kind::minmax] += maxima_tree;
      counts[flop_kind::add] += sums * sum_tree + sums - 1;
      return counts += Derived::count_from_kept() * n;
    }
    const std::uint64_t chunks = whole((columns + kernels::softmax_chunk - 1) / kernels::softmax_chunk);
    counts[flop_kind::minmax] += chunks * maxima_tree;
    counts[flop_kind::add] += chunks * sum_tree;
    // Each chunk joins what came before it.
    counts[flop_kind::minmax] += chunks;
    counts[flop_kind::compare] += chunks;
    counts[flop_kind::add] += chunks;
    counts[flop_kind::exp] += chunks;
    counts[flop_kind::fma] += chunks;
    const std::uint64_t segments = whole(kernels::softmax_segments(columns));
    counts[flop_kind::minmax] += segments;
    counts[flop_kind::compare] += 1;
    counts[flop_kind::add] += 2 * segments + sum_tree;
    counts[flop_kind::exp] += segments;
    counts[flop_kind::mul] += segments;
    return counts += Derived::count_from_value() * n;
  }

  template <class T>
  flop_counts count_with(const specification& choice) const {
    using counting = counted<T>;
    const std::int64_t columns = choice.shape.at("columns");
    const input_values inputs(choice);
    std::vector<double> numbers(static_cast<std::size_t>(columns));
    std::vector<counting> row;
    std::vector<counting> result(static_cast<std::size_t>(columns));
    flop_counts counts;
    for (std::int64_t which = 0; which < choice.shape.at("rows"); ++which) {
      inputs.read(0, which * columns, numbers);
      row.assign(numbers.begin(), numbers.end());
      prumo::detail::softmax_problem<counting> problem;
      problem.source = row.data();
      problem.target = result.data();
      problem.rows = 1;
      problem.columns = columns;
      const auto run = [&](const auto& kernel) {
        const counting_scope scope(counts);
        for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
      };
      if (columns < prumo::detail::softmax_counted_vector_row<counting>) {
        run(prumo::detail::softmax_side_by_side_kernel<counting, Formula>(problem, false));
      } else {
        run(prumo::detail::softmax_host_kernel<counting, Formula>(problem, 1, false));
      }
    }
    return counts;
  }
};

flop_counts counts_of(std::initializer_list<std::pair<flop_kind, std::uint64_t>> kinds) {
  flop_counts counts;
  for (const auto& [kind, count] : kinds) counts[kind] = count;
  return counts;
}

template <class Exec>
class softmax_case final : public softmax_case_base<softmax_case<Exec>, Exec, prumo::detail::softmax_formula> {
 public:
  /// Per element a subtraction, an exponential, an addition and a product; per row a reciprocal.
  static constexpr double flops_per_element = 4;

  case_info info() const override {
    case_info result = softmax_case::rows_info("softmax", "the softmax of each row of x");
    result.in_default_sweep = true;
    return result;
  }
  static void call(context_ref ctx, const array_ref& x, const array_ref& y) { softmax(ctx, x, y); }
  static std::pair<long double, long double> exact(long double distance, long double total,
                                                   const softmax_bounds& bounds) {
    const long double value = std::exp(-distance) / total;
    return {value, value * bounds.relative_of_quotient(distance)};
  }
  static flop_counts count_of_factor() { return counts_of({{flop_kind::div, 1}}); }
  static flop_counts count_from_kept() { return counts_of({{flop_kind::mul, 1}}); }
  static flop_counts count_from_value() {
    return counts_of({{flop_kind::add, 1}, {flop_kind::exp, 1}, {flop_kind::mul, 1}});
  }
};

template <class Exec>
class log_softmax_case final
    : public softmax_case_base<log_softmax_case<Exec>, Exec, prumo::detail::log_softmax_formula> {
 public:
  /// Per element three subtractions, an exponential and an addition; per row a logarithm.
  static constexpr double flops_per_element = 5;

  case_info info() const override {
    return log_softmax_case::rows_info("log_softmax", "the logarithm of the softmax of each row of x");
  }
  static void call(context_ref ctx, const array_ref& x, const array_ref& y) { log_softmax(ctx, x, y); }
  static std::pair<long double, long double> exact(long double distance, long double total,
                                                   const softmax_bounds& bounds) {
    const long double log_total = std::log(total);
    return {-distance - log_total, bounds.absolute_of_logarithm(distance, log_total)};
  }
  static flop_counts count_of_factor() { return counts_of({{flop_kind::log, 1}}); }
  static flop_counts count_from_kept() { return counts_of({{flop_kind::add, 2}}); }
  static flop_counts count_from_value() { return count_from_kept(); }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(softmax, prumo::cases::softmax_case, prumo::cases::log_softmax_case)
