// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "softmax_kernel.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>

#include <cmath>

namespace prumo::cases {
namespace {

/// Chunks of a row.
std::int64_t chunks_of(std::int64_t columns) {
  return (columns + prumo::detail::softmax_chunk - 1) / prumo::detail::softmax_chunk;
}

/// The largest relative error of an entry whose exponent is x - max, in a row whose values spread over `spread`.
///
/// With u the unit roundoff of the compute type: x - max is rounded once, which exp turns into a relative error of
/// u |x - max|, and exp itself adds 2 u. Each term of the sum carries the same with the spread in place of |x - max|;
/// adding up rounds as often as the lanes are deep; every further chunk rescales the sum once, by an exponential of a
/// difference of maxima. The reciprocal and the last product round once each.
long double relative_bound(dtype type, long double distance, long double spread, std::int64_t columns) {
  const long double u = unit_roundoff(compute_type(type));
  const std::int64_t lanes =
      type == dtype::f64 ? prumo::detail::reduction_lanes<double> : prumo::detail::reduction_lanes<float>;
  const std::int64_t longest = std::min(columns, prumo::detail::softmax_chunk);
  const std::int64_t longest_lane = (longest + lanes - 1) / lanes;
  const auto further_chunks = static_cast<double>(chunks_of(columns) - 1);
  const double depth = static_cast<double>(longest_lane + 6) + 2 * further_chunks;
  return u * (distance + 2) + u * (spread + 2) + gamma(compute_type(type), depth) +
         static_cast<long double>(further_chunks) * u * (spread + 2) + 2 * u;
}

template <class Exec>
class softmax_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "softmax";
    result.description = "the softmax of each row of x";
    result.axes = {{"rows", "rows of x", 0}, {"columns", "elements of a row", 1024}};
    result.in_default_sweep = true;
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_rows(info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::vector<std::int64_t> both{extents.at("rows"), extents.at("columns")};
    return {{"x", array_role::input, both}, {"y", array_role::output, both}};
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto rows = static_cast<double>(extents.at("rows"));
    const double elements = rows * static_cast<double>(extents.at("columns"));
    // Per element a subtraction, an exponential, an addition and a product, per row a reciprocal.
    return {2 * elements * static_cast<double>(dtype_size(type)), 4 * elements + rows, elements};
  }

  void run(context<Exec>& ctx, const specification& choice, const case_arrays<Exec>& arrays) const override {
    with_type(choice.type,
              [&]<class T>(T) { softmax(ctx, arrays.template matrix<T>(0), arrays.template matrix<T>(1)); });
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override { return extents.at("rows"); }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 100.0 * static_cast<double>(extents.at("columns"));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t columns = choice.shape.at("columns");
    std::vector<double> row(static_cast<std::size_t>(columns));
    inputs.read(0, part * columns, row);
    if (row.empty()) return;
    const auto [lowest, highest] = std::minmax_element(row.begin(), row.end());
    const auto maximum = static_cast<long double>(*highest);
    const long double spread = maximum - static_cast<long double>(*lowest);
    long double total = 0;
    for (const double x : row) total += std::exp(static_cast<long double>(x) - maximum);
    for (std::int64_t column = 0; column < columns; ++column) {
      const long double distance = maximum - static_cast<long double>(row[static_cast<std::size_t>(column)]);
      const long double value = std::exp(-distance) / total;
      const long double bound = value * relative_bound(choice.type, distance, spread, columns);
      out.push_back({1, part * columns + column, value, stored_bound(choice.type, value, bound)});
    }
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override {
    const auto rows = static_cast<std::uint64_t>(choice.shape.at("rows"));
    const std::int64_t columns = choice.shape.at("columns");
    if (columns == 0) return {};
    const std::uint64_t tree =
        (choice.type == dtype::f64 ? prumo::detail::reduction_lanes<double> : prumo::detail::reduction_lanes<float>)-1;
    const auto n = static_cast<std::uint64_t>(columns);
    const auto chunks = static_cast<std::uint64_t>(chunks_of(columns));
    const std::uint64_t passes = chunks == 1 ? 1 : 2;  // how often the exponentials are computed
    flop_counts row;
    row[flop_kind::minmax] = n + chunks * tree + (chunks - 1);
    row[flop_kind::exp] = passes * n + (chunks - 1);
    // Subtractions of the maximum, the sum of each chunk, and the differences of maxima.
    row[flop_kind::add] = passes * n + n + chunks * tree + (chunks - 1);
    row[flop_kind::fma] = chunks - 1;
    row[flop_kind::mul] = n;
    row[flop_kind::div] = 1;
    row[flop_kind::compare] = 1 + 3 * (chunks - 1);
    return row * rows;
  }

 private:
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
      const prumo::detail::softmax_host_kernel<counting> kernel(problem, false);
      const counting_scope scope(counts);
      for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    }
    return counts;
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(softmax, prumo::cases::softmax_case)
