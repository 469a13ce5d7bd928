// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sum_kernel.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/sum.hpp>

#include <cmath>

namespace prumo::cases {
namespace {

/// The sum of a row of the case's data and of its absolute values, exact enough for every type: chunks are added in
/// long double, and chunks to one another with compensation (Neumaier 1974).
struct exact_sum {
  long double value = 0;
  long double magnitude = 0;

  exact_sum(const input_values& inputs, std::int64_t begin, std::int64_t count) {
    constexpr std::int64_t chunk = 4096;
    std::vector<double> numbers;
    long double compensation = 0;
    for (std::int64_t at = 0; at < count; at += chunk) {
      numbers.resize(static_cast<std::size_t>(std::min(chunk, count - at)));
      inputs.read(0, begin + at, numbers);
      long double partial = 0;
      for (const double number : numbers) {
        partial += static_cast<long double>(number);
        magnitude += static_cast<long double>(std::fabs(number));
      }
      const long double total = value + partial;
      compensation += std::fabs(value) >= std::fabs(partial) ? (value - total) + partial : (partial - total) + value;
      value = total;
    }
    value += compensation;
  }
};

std::uint64_t additions_of(std::int64_t count, std::int64_t lanes) {
  return static_cast<std::uint64_t>(count < lanes ? count : count + lanes - 1);
}

/// Additions of the row kernels for one row.
std::uint64_t additions_of_row(std::int64_t columns, dtype type) {
  const std::int64_t lanes =
      type == dtype::f64 ? prumo::detail::reduction_lanes<double> : prumo::detail::reduction_lanes<float>;
  constexpr std::int64_t segment = prumo::detail::sum_segment;
  const std::int64_t segments = prumo::detail::sum_segments(columns);
  std::uint64_t additions = static_cast<std::uint64_t>(columns / segment) * additions_of(segment, lanes);
  additions += additions_of(columns % segment, lanes);
  return segments > 1 ? additions + additions_of(segments, lanes) : additions;
}

/// Runs the row kernels on one row of the case's data, a segment at a time in bounded memory.
template <class T>
void count_row(const input_values& inputs, std::int64_t begin, std::int64_t columns, flop_counts& counts) {
  using C = counted<T>;
  using kernel = prumo::detail::sum_segments_kernel<C, C>;
  constexpr std::int64_t length = prumo::detail::sum_segment;
  const std::int64_t segments = prumo::detail::sum_segments(columns);
  std::vector<C> partial(static_cast<std::size_t>(segments));
  std::vector<double> numbers;
  std::vector<C> values;
  const counting_scope scope(counts);
  for (std::int64_t segment = 0; segment < segments; ++segment) {
    const std::int64_t count = std::min(length, columns - segment * length);
    numbers.resize(static_cast<std::size_t>(count));
    inputs.read(0, begin + segment * length, numbers);
    values.assign(numbers.begin(), numbers.end());
    kernel{values.data(), 1, count, 0, 1, partial.data() + segment, 1, length}(0);
  }
  C result;
  if (segments > 1) kernel{partial.data(), 1, segments, 0, 1, &result, 1, segments}(0);
}

/// What the sums of arrays and of rows share: an array counts as one row.
template <class Exec>
class sum_case_base : public operation_case<Exec> {
 public:
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 5.0 * static_cast<double>(columns_of(extents));
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override { return rows_of(extents); }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t columns = columns_of(choice.shape);
    const exact_sum exact(inputs, part * columns, columns);
    const std::size_t compute_bytes = dtype_size(compute_type(choice.type));
    const bool column_major = choice.layout == array_layout::left && choice.shape.contains("rows");
    const auto depth = static_cast<double>(sum_depth(columns, compute_bytes, column_major));
    const long double bound = gamma(compute_type(choice.type), depth) * exact.magnitude;
    out.push_back({1, part, exact.value, stored_bound(choice.type, exact.value, bound)});
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto elements = static_cast<double>(rows_of(extents)) * static_cast<double>(columns_of(extents));
    return {(elements + static_cast<double>(rows_of(extents))) * static_cast<double>(dtype_size(type)), elements,
            elements};
  }

  flop_counts count_kernel(const specification& choice) const override {
    flop_counts counts;
    const input_values inputs(choice);
    const std::int64_t columns = columns_of(choice.shape);
    for (std::int64_t row = 0; row < rows_of(choice.shape); ++row) {
      if (choice.type == dtype::f64) {
        count_row<double>(inputs, row * columns, columns, counts);
      } else {
        count_row<float>(inputs, row * columns, columns, counts);
      }
    }
    return counts;
  }

  flop_counts count_closed_form(const specification& choice) const override {
    flop_counts counts;
    counts[flop_kind::add] =
        static_cast<std::uint64_t>(rows_of(choice.shape)) * additions_of_row(columns_of(choice.shape), choice.type);
    return counts;
  }

 protected:
  virtual std::int64_t rows_of(const shape& extents) const = 0;
  virtual std::int64_t columns_of(const shape& extents) const = 0;
};

template <class Exec>
class sum_case final : public sum_case_base<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "sum";
    result.description = "the sum of all elements of x";
    result.axes = {{"n", "elements of x", 0}};
    result.in_default_sweep = true;
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_vector("sum", type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"x", array_role::input, {extents.at("n")}}, {"result", array_role::output, {}}};
  }

  void run(context<Exec>& ctx, const specification& choice, const case_arrays<Exec>& arrays) const override {
    with_type(choice.type, [&]<class T>(T) { sum(ctx, arrays.template vector<T>(0), arrays.template scalar<T>(1)); });
  }

 protected:
  std::int64_t rows_of(const shape&) const override { return 1; }
  std::int64_t columns_of(const shape& extents) const override { return extents.at("n"); }
};

template <class Exec>
class sum_rows_case final : public sum_case_base<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "sum_rows";
    result.description = "the sum of each row of x";
    result.axes = {{"rows", "rows of x", 0}, {"columns", "elements of a row", 1024}};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_rows(info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"x", array_role::input, {extents.at("rows"), extents.at("columns")}},
            {"y", array_role::output, {extents.at("rows")}}};
  }

  void run(context<Exec>& ctx, const specification& choice, const case_arrays<Exec>& arrays) const override {
    with_type(choice.type,
              [&]<class T>(T) { sum_rows(ctx, arrays.template matrix<T>(0), arrays.template vector<T>(1)); });
  }

 protected:
  std::int64_t rows_of(const shape& extents) const override { return extents.at("rows"); }
  std::int64_t columns_of(const shape& extents) const override { return extents.at("columns"); }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(sum, prumo::cases::sum_case, prumo::cases::sum_rows_case)
