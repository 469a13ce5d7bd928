// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/case/moving_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/transpose.hpp>

namespace prumo::cases {
namespace {

template <class Exec>
class transpose_case final : public moving_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = "transpose";
    result.description = "y = x^T";
    result.axes = {{"rows", "rows of x", 0}, {"columns", "columns of x", 0}};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_matrix("transpose", type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::int64_t rows = extents.at("rows"), columns = extents.at("columns");
    return {{"x", array_role::input, {rows, columns}}, {"y", array_role::output, {columns, rows}}};
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const double elements = static_cast<double>(extents.at("rows")) * static_cast<double>(extents.at("columns"));
    return {2 * elements * static_cast<double>(dtype_size(type)), 0, elements};
  }

  void run(context<Exec>& ctx, const specification&, case_arrays arrays) const override {
    transpose(instance_ref(ctx), arrays[0], arrays[1]);
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override { return extents.at("rows"); }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    return 20.0 * static_cast<double>(extents.at("columns"));
  }

  /// A row of x, which is a column of y; exact.
  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t rows = choice.shape.at("rows"), columns = choice.shape.at("columns");
    std::vector<double> row(static_cast<std::size_t>(columns));
    inputs.read(0, part * columns, row);
    for (std::int64_t column = 0; column < columns; ++column) {
      out.push_back({1, column * rows + part, static_cast<long double>(row[static_cast<std::size_t>(column)]), 0});
    }
  }
};

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(transpose, prumo::cases::transpose_case)
