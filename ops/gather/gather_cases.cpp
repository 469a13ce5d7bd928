// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/moving_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/error.hpp>
#include <prumo/gather.hpp>

#include <limits>
#include <string>

namespace prumo::cases {
namespace {

template <class Exec>
class gather_rows_case final : public moving_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "gather_rows";
    result.description = "y(i, :) = x(index(i), :)";
    result.axes = {{"rows", "rows of y", 0},
                   {"columns", "elements of a row", 256},
                   {"table", "rows of x (default: the rows of y)", 0}};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    shape of_y;
    for (const auto& [name, extent] : given) {
      if (name != "table") of_y.set(name, extent);
    }
    shape result = resolve_rows(info(), type, bytes_per_array, of_y);
    const std::int64_t table = given.contains("table") ? given.at("table") : result.at("rows");
    if (table < 0) throw argument_error("gather_rows: axis table is " + std::to_string(table) + ", expected 0 or more");
    result.set("table", table);
    return result;
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::int64_t rows = extents.at("rows"), columns = extents.at("columns"), table = extents.at("table");
    array_specification index{"index", array_role::input, {rows}};
    index.indices_below = table;
    array_specification x{"x", array_role::input, {table, columns}};
    x.rows_read = rows;
    return {x, index, {"y", array_role::output, {rows, columns}}};
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto rows = static_cast<double>(extents.at("rows"));
    const double elements = rows * static_cast<double>(extents.at("columns"));
    return {2 * elements * static_cast<double>(dtype_size(type)) + 8 * rows, 0, elements};
  }

  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    gather_rows(instance_ref(ctx), arrays[0], arrays[1], arrays[2]);
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override { return extents.at("rows"); }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 20.0 * static_cast<double>(extents.at("columns"));
  }

  /// A row of y; exact. Where x has no rows no index is one.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t columns = choice.shape.at("columns"), table = choice.shape.at("table");
    std::vector<double> row(static_cast<std::size_t>(columns), std::numeric_limits<double>::quiet_NaN());
    if (table > 0) inputs.read(0, inputs.index_at(1, part, table) * columns, row);
    for (std::int64_t column = 0; column < columns; ++column) {
      out.push_back({2, part * columns + column, static_cast<long double>(row[static_cast<std::size_t>(column)]), 0});
    }
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(gather, prumo::cases::gather_rows_case)
