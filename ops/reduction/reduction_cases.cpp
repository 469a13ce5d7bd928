// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "problem/reduction_problem.hpp"
#include "reduction_counts.hpp"
#include "reduction_reference.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/case/rounding.hpp>
#include <prumo/reduction.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace prumo::cases {
namespace {

using prumo::reduction;

struct reduction_text {
  const char* op;
  const char* of_array;
  const char* of_rows;
};

constexpr reduction_text text_of(reduction kind) {
  switch (kind) {
    case reduction::sum: return {"sum", "the sum of all elements of x", "the sum of each row of x"};
    case reduction::sum_of_squares:
      return {"sum_of_squares", "the sum of the squares of all elements of x", "the sum of squares of each row of x"};
    case reduction::mean: return {"mean", "the mean of all elements of x", "the mean of each row of x"};
    case reduction::max: return {"max", "the largest element of x", "the largest element of each row of x"};
    case reduction::min: return {"min", "the smallest element of x", "the smallest element of each row of x"};
    case reduction::argmax:
      return {"argmax", "the index of the largest element of x", "the column of the largest element of each row of x"};
    case reduction::argmin: break;
  }
  return {"argmin", "the index of the smallest element of x", "the column of the smallest element of each row of x"};
}

/// The output: a number or an index below `count` for each row.
template <reduction Kind>
array_specification result_array(const char* name, std::vector<std::int64_t> extents, std::int64_t count) {
  array_specification array{name, array_role::output, std::move(extents)};
  if (prumo::detail::finds_index(Kind)) array.indices_below = count;
  return array;
}

/// What whole arrays and rows share: an array counts as one row.
template <class Exec, reduction Kind>
class reduction_case_base : public operation_case<Exec> {
 public:
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 5.0 * static_cast<double>(columns_of(extents));
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override { return rows_of(extents); }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    out.push_back(reduction_reference(Kind, choice.type, inputs, elements_of(choice.shape, part), part, depth(choice)));
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto rows = static_cast<double>(rows_of(extents));
    const double elements = rows * static_cast<double>(columns_of(extents));
    const double result_bytes = prumo::detail::finds_index(Kind) ? 8 : static_cast<double>(dtype_size(type));
    const double flops = Kind == reduction::sum              ? elements
                         : Kind == reduction::mean           ? elements + rows
                         : Kind == reduction::sum_of_squares ? 2 * elements
                                                             : 0;
    return {elements * static_cast<double>(dtype_size(type)) + rows * result_bytes, flops, elements};
  }

  std::string why_unsupported(const specification& choice) const override {
    if (prumo::detail::has_empty_result(Kind) || columns_of(choice.shape) > 0) return {};
    return choice.op + " of nothing has no result";
  }

  /// Comparisons are no flops, and how many the search for a position takes depends on the data.
  bool countable() const override { return !prumo::detail::finds_index(Kind); }

  flop_counts count_kernel(const specification& choice) const override {
    flop_counts counts;
    for (std::int64_t row = 0; row < rows_of(choice.shape); ++row) {
      counts += count_reduction_kernel(Kind, kernels, choice, elements_of(choice.shape, row));
    }
    return counts;
  }

  flop_counts count_closed_form(const specification& choice) const override {
    return reduction_counts(Kind, kernels, choice.type, columns_of(choice.shape)) *
           static_cast<std::uint64_t>(rows_of(choice.shape));
  }

 protected:
  virtual std::int64_t rows_of(const shape& extents) const = 0;
  virtual std::int64_t columns_of(const shape& extents) const = 0;

  /// Which elements of x are those of a row.
  virtual case_row elements_of(const shape& extents, std::int64_t row) const {
    return case_row::of_matrix(row, columns_of(extents));
  }
  virtual std::int64_t depth(const specification& choice) const {
    const bool column_major = choice.layout == array_layout::left && choice.shape.contains("rows");
    return sum_depth(columns_of(choice.shape), dtype_size(compute_type(choice.type)), column_major);
  }

  counted_kernels kernels = counted_kernels::of_rows;
};

template <class Exec, reduction Kind>
class whole_case : public reduction_case_base<Exec, Kind> {
 public:
  case_info info() const override {
    case_info result;
    result.op = text_of(Kind).op;
    result.description = text_of(Kind).of_array;
    result.axes = {{"n", "elements of x", 0}};
    result.in_default_sweep = Kind == reduction::sum;
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_vector(text_of(Kind).op, type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"x", array_role::input, {extents.at("n")}}, result_array<Kind>("result", {}, extents.at("n"))};
  }

  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    const context_ref owner(ctx);
    if constexpr (Kind == reduction::sum) sum(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::sum_of_squares) sum_of_squares(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::mean) mean(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::max) max(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::min) min(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::argmax) argmax(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::argmin) argmin(owner, arrays[0], arrays[1]);
  }

 protected:
  std::int64_t rows_of(const shape&) const override { return 1; }
  std::int64_t columns_of(const shape& extents) const override { return extents.at("n"); }
};

template <class Exec, reduction Kind>
class rows_case : public reduction_case_base<Exec, Kind> {
 public:
  case_info info() const override {
    case_info result;
    result.op = std::string(text_of(Kind).op) + "_rows";
    result.description = text_of(Kind).of_rows;
    result.axes = {{"rows", "rows of x", 0}, {"columns", "elements of a row", 1024}};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_rows(info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"x", array_role::input, {extents.at("rows"), extents.at("columns")}},
            result_array<Kind>("y", {extents.at("rows")}, extents.at("columns"))};
  }

  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    const context_ref owner(ctx);
    if constexpr (Kind == reduction::sum) sum_rows(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::sum_of_squares) sum_of_squares_rows(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::mean) mean_rows(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::max) max_rows(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::min) min_rows(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::argmax) argmax_rows(owner, arrays[0], arrays[1]);
    if constexpr (Kind == reduction::argmin) argmin_rows(owner, arrays[0], arrays[1]);
  }

 protected:
  std::int64_t rows_of(const shape& extents) const override { return extents.at("rows"); }
  std::int64_t columns_of(const shape& extents) const override { return extents.at("columns"); }
};

/// The mean of each channel of a batch of images, as batch normalisation wants it.
template <class Exec>
class axes_case : public reduction_case_base<Exec, reduction::mean> {
 public:
  axes_case() { this->kernels = counted_kernels::of_axes; }

  case_info info() const override {
    case_info result;
    result.op = "reduce";
    result.description = "the mean of each channel of x: [images x channels x pixels], over images and pixels";
    result.axes = {{"images", "images of x", 0},
                   {"channels", "channels of an image", 64},
                   {"pixels", "pixels of a channel", 1024}};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    return {{"x", array_role::input, {extents.at("images"), extents.at("channels"), extents.at("pixels")}},
            result_array<reduction::mean>("y", {extents.at("channels")}, 0)};
  }

  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    constexpr int axes[] = {0, 2};
    reduce(context_ref(ctx), reduction::mean, arrays[0], axes, arrays[1]);
  }

 protected:
  std::int64_t rows_of(const shape& extents) const override { return extents.at("channels"); }
  std::int64_t columns_of(const shape& extents) const override { return extents.at("images") * extents.at("pixels"); }
  case_row elements_of(const shape& extents, std::int64_t row) const override {
    const std::int64_t pixels = extents.at("pixels");
    return {row * pixels, pixels, extents.at("channels") * pixels, columns_of(extents)};
  }
  std::int64_t depth(const specification& choice) const override {
    return reduce_depth(columns_of(choice.shape), dtype_size(compute_type(choice.type)));
  }
};

/// The cases of a kind, as templates of the execution space alone.
template <reduction Kind>
struct cases_of {
  template <class Exec>
  using whole = whole_case<Exec, Kind>;
  template <class Exec>
  using rows = rows_case<Exec, Kind>;
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(
    reduction, prumo::cases::axes_case, prumo::cases::cases_of<prumo::reduction::sum>::whole,
    prumo::cases::cases_of<prumo::reduction::sum>::rows,
    prumo::cases::cases_of<prumo::reduction::sum_of_squares>::whole,
    prumo::cases::cases_of<prumo::reduction::sum_of_squares>::rows,
    prumo::cases::cases_of<prumo::reduction::mean>::whole, prumo::cases::cases_of<prumo::reduction::mean>::rows,
    prumo::cases::cases_of<prumo::reduction::max>::whole, prumo::cases::cases_of<prumo::reduction::max>::rows,
    prumo::cases::cases_of<prumo::reduction::min>::whole, prumo::cases::cases_of<prumo::reduction::min>::rows,
    prumo::cases::cases_of<prumo::reduction::argmax>::whole, prumo::cases::cases_of<prumo::reduction::argmax>::rows,
    prumo::cases::cases_of<prumo::reduction::argmin>::whole, prumo::cases::cases_of<prumo::reduction::argmin>::rows)
