// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the cases of pooling and of its gradients share.

#include "pooling_choice.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/case/product_reference.hpp>

namespace prumo::cases {

/// Derived has `friend window_case` and `template <class T> static flop_counts count_with(const specification&)`.
template <class Derived, class Exec, prumo::detail::pooling_kind Kind>
class window_case : public operation_case<Exec> {
 public:
  shape resolve(dtype type, std::int64_t bytes_per_array, const shape& given) const override {
    return resolve_axes(this->info(), type, bytes_per_array, given);
  }

  std::string why_invalid(const specification& choice) const override {
    const pooling_choice what(choice.shape, choice.values);
    if (!what.is_valid_window()) return "the window, its stride or its padding cannot be";
    return what.is_valid() ? "" : "the images are smaller than the window";
  }

  std::int64_t reference_parts(const shape& extents, const parameters&) const override {
    return extents.at("images") * extents.at("channels");
  }

  flop_counts count_kernel(const specification& choice) const override {
    return choice.type == dtype::f64 ? Derived::template count_with<double>(choice)
                                     : Derived::template count_with<float>(choice);
  }

 protected:
  static constexpr bool is_maximum = Kind == prumo::detail::pooling_kind::maximum;

  /// The problem without its arrays.
  template <class Problem>
  static Problem problem_of(const pooling_choice& what) {
    Problem problem;
    problem.images = what.images;
    problem.channels = what.channels;
    problem.height = what.height;
    problem.width = what.width;
    problem.rows = what.rows;
    problem.columns = what.columns;
    problem.window = what.window;
    return problem;
  }

  /// Row-major planes of all channels.
  template <class Element>
  static prumo::detail::image_array<Element> dense(const pooling_choice& what, Element* data, std::int64_t rows,
                                                   std::int64_t columns) {
    return {data, what.channels * rows * columns, rows * columns, columns, 1};
  }

  template <class Kernel>
  static flop_counts counts_of(const Kernel& kernel) {
    flop_counts counts;
    const counting_scope scope(counts);
    for (std::int64_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    return counts;
  }
};

}  // namespace prumo::cases
