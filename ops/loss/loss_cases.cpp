// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loss_host_kernel.hpp"
#include "loss_reference.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/loss.hpp>

#include <algorithm>

namespace prumo::cases {
namespace {

/// Rows of one part of the reference of the gradient. One more part has the sums over all rows.
constexpr std::int64_t rows_of_reference_part = 256;

template <class Exec, loss_kind Kind>
class loss_case final : public operation_case<Exec> {
 public:
  case_info info() const override {
    case_info result;
    result.op = Kind == loss_kind::softmax   ? "softmax_cross_entropy"
                : Kind == loss_kind::sigmoid ? "sigmoid_cross_entropy"
                                             : "squared_error";
    result.description = "loss, gradient and number of right answers, of each row of scores and its label";
    result.axes = {{"rows", "rows of the scores", 0}, {"classes", "scores of a row", 10}};
    result.values = {{"scale", "the factor of the gradient", 1, nullptr, {0.015625, 0, -0.75}}};
    const auto of = [](std::int64_t rows, std::int64_t classes) { return shape{{"rows", rows}, {"classes", classes}}; };
    result.test_shapes = {of(0, 5),  of(3, 0),     of(1, 1),   of(5, 1),    of(1, 10),   of(64, 10),
                          of(37, 3), of(1000, 10), of(9, 129), of(7, 1000), of(2, 2500), of(4100, 2)};
    return result;
  }

  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(info(), type, bytes_per_array, given);
  }

  std::vector<array_specification> arrays(const shape& extents, const parameters&) const override {
    const std::int64_t rows = extents.at("rows"), classes = extents.at("classes");
    return {{"scores", array_role::input, {rows, classes}},
            {"labels", array_role::input, {rows}, dtype::i32, {}, std::max<std::int64_t>(1, classes)},
            {"gradient", array_role::output, {rows, classes}},
            {"sums", array_role::input_output, {2}, dtype::f64}};
  }

  cost model(dtype type, const shape& extents, const parameters&) const override {
    const auto rows = static_cast<double>(extents.at("rows"));
    const double elements = rows * static_cast<double>(extents.at("classes"));
    const double flops = Kind == loss_kind::softmax ? 4 : Kind == loss_kind::sigmoid ? 12 : 4;
    return {2 * elements * static_cast<double>(dtype_size(type)) + 4 * rows, flops * elements, elements};
  }

  void run(context<Exec>& ctx, const specification& choice, case_arrays arrays) const override {
    const loss_options options{.scale = choice.values.at("scale")};
    const auto call = [&](auto function) {
      function(context_ref(ctx), arrays[0], arrays[1], arrays[2], arrays[3], options);
    };
    using function = void (*)(context_ref, const array_ref&, const array_ref&, const array_ref&, const array_ref&,
                              const loss_options&);
    if constexpr (Kind == loss_kind::softmax) {
      call(static_cast<function>(softmax_cross_entropy));
    } else if constexpr (Kind == loss_kind::sigmoid) {
      call(static_cast<function>(sigmoid_cross_entropy));
    } else {
      call(static_cast<function>(squared_error));
    }
  }

  std::string why_invalid(const specification& choice) const override {
    return choice.shape.at("rows") > 0 && choice.shape.at("classes") == 0 ? "there are rows and no classes" : "";
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return (extents.at("rows") + rows_of_reference_part - 1) / rows_of_reference_part + 1;
  }
  double reference_part_cost(const shape& extents, const parameters&) const override {
    const std::int64_t rows = std::min(extents.at("rows"), rows_of_reference_part);
    return 100.0 * static_cast<double>(rows * extents.at("classes"));
  }

  void reference(const specification& choice, const input_values& inputs, std::int64_t part,
                 std::vector<reference_entry>& out) const override {
    const std::int64_t rows = choice.shape.at("rows"), classes = choice.shape.at("classes");
    const bool is_of_sums = part + 1 == reference_parts(choice.shape, choice.values);
    const std::int64_t begin = is_of_sums ? 0 : part * rows_of_reference_part;
    const std::int64_t end = is_of_sums ? rows : std::min(rows, begin + rows_of_reference_part);
    std::vector<double> scores(static_cast<std::size_t>(classes));
    bounded loss;
    long double correct = 0;
    for (std::int64_t row = begin; row < end; ++row) {
      inputs.read(0, row * classes, scores);
      const std::int64_t label = inputs.index_at(1, row, classes);
      const exact_row exact(Kind, choice.type, scores, label, choice.values.at("scale"));
      if (is_of_sums) {
        const bounded of_row = exact.loss();
        loss.value += of_row.value;
        loss.bound += of_row.bound;
        correct += exact.is_right() ? 1 : 0;
        continue;
      }
      for (std::size_t c = 0; c < scores.size(); ++c) {
        const auto [value, bound] = exact.gradient(c);
        out.push_back(
            {2, row * classes + static_cast<std::int64_t>(c), value, stored_bound(choice.type, value, bound)});
      }
    }
    if (!is_of_sums) return;
    // The losses of rows are added up in f64, in some order, and then to what the array held. Counts are exact.
    const input_values of_sums = inputs.of_type(dtype::f64);
    const auto loss_before = static_cast<long double>(of_sums.at(3, 0));
    const auto correct_before = static_cast<long double>(of_sums.at(3, 1));
    const long double of_order = gamma(dtype::f64, static_cast<double>(rows) + 1) * (loss.value + loss.bound + 1);
    out.push_back({3, 0, loss_before + loss.value, loss.bound + of_order});
    out.push_back({3, 1, correct_before + correct, unit_roundoff(dtype::f64) * (correct + 1)});
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? count_with<double>(choice) : count_with<float>(choice);
  }

  flop_counts count_closed_form(const specification& choice) const override {
    const std::int64_t rows = choice.shape.at("rows"), classes = choice.shape.at("classes");
    if (rows == 0 || classes == 0) return {};
    const auto n = static_cast<std::uint64_t>(classes);
    const std::int64_t of_part = prumo::detail::loss_rows_of_part(rows, classes);
    flop_counts counts = count_of_row(n) * static_cast<std::uint64_t>(rows);
    // The sum over the rows of each part, and loss and number of each part.
    counts[flop_kind::add] += static_cast<std::uint64_t>(rows + 2 * ((rows + of_part - 1) / of_part));
    return counts;
  }

 private:
  /// The operations of one row by hand, as the host's kernel does them.
  static flop_counts count_of_row(std::uint64_t n) {
    flop_counts counts;
    counts[flop_kind::compare] = n;
    if (Kind == loss_kind::softmax) {
      const std::uint64_t exponentials = n > prumo::detail::loss_chunk ? 2 * n : n;
      counts[flop_kind::minmax] = n;
      counts[flop_kind::exp] = exponentials;
      counts[flop_kind::add] = exponentials + n + 2;
      counts[flop_kind::mul] = n + 2;
      counts[flop_kind::div] = counts[flop_kind::log] = counts[flop_kind::fma] = 1;
    } else if (Kind == loss_kind::sigmoid) {
      counts[flop_kind::compare] += n;
      counts[flop_kind::add] = 5 * n;
      counts[flop_kind::mul] = 2 * n;
      counts[flop_kind::exp] = counts[flop_kind::log] = counts[flop_kind::div] = n;
      counts[flop_kind::fma] = counts[flop_kind::minmax] = n;
    } else {
      counts[flop_kind::add] = n + 1;
      counts[flop_kind::mul] = 3 * n;
    }
    return counts;
  }

  template <class T>
  static flop_counts count_with(const specification& choice) {
    using counting = counted<T>;
    const std::int64_t rows = choice.shape.at("rows"), classes = choice.shape.at("classes");
    flop_counts counts;
    if (rows == 0 || classes == 0) return counts;
    const input_values inputs(choice);
    const auto scores = counted_values<T>(inputs, 0, rows * classes);
    std::vector<counting> gradient(scores.size());
    std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
      labels[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(inputs.index_at(1, row, classes));
    }
    double sums[2] = {};
    prumo::detail::loss_problem<counting> problem;
    problem.scores = scores.data();
    problem.gradient = gradient.data();
    problem.labels = labels.data();
    problem.sums = sums;
    problem.rows = rows;
    problem.classes = classes;
    problem.score_row_stride = problem.gradient_row_stride = classes;
    problem.scale = choice.values.at("scale");
    const std::int64_t of_part = prumo::detail::loss_rows_of_part(rows, classes);
    std::vector<prumo::detail::loss_sums> parts(static_cast<std::size_t>((rows + of_part - 1) / of_part));
    const counting_scope scope(counts);
    const prumo::detail::loss_host_kernel<Kind, counting> kernel(problem, parts.data());
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    prumo::detail::loss_join_kernel<counted<double>>{parts.data(), kernel.blocks(), sums, 1}(0);
    return counts;
  }
};

template <class Exec>
using softmax_cross_entropy_case = loss_case<Exec, loss_kind::softmax>;
template <class Exec>
using sigmoid_cross_entropy_case = loss_case<Exec, loss_kind::sigmoid>;
template <class Exec>
using squared_error_case = loss_case<Exec, loss_kind::squared>;

}  // namespace
}  // namespace prumo::cases

PRUMO_REGISTER_CASES(loss, prumo::cases::softmax_cross_entropy_case, prumo::cases::sigmoid_cross_entropy_case,
                     prumo::cases::squared_error_case)
