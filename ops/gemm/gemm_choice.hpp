// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Translates a choice of the cases of products to arguments of the operation.

#include "gemm_problem.hpp"
#include <prumo/case/operation_case.hpp>
#include <prumo/gemm.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace prumo::cases {

/// Which bias a choice adds.
enum class bias_kind : std::uint8_t { none, of_columns, of_rows };

/// The value of a parameter that names one of `count` things.
template <class Enumeration>
Enumeration choice_of(const parameters& values, const char* name, int count) {
  const double value = values.at(name);
  if (value >= 0 && value < count && value == std::floor(value)) return static_cast<Enumeration>(value);
  throw argument_error(std::string("gemm: parameter ") + name + " is a whole number from 0 to " +
                       std::to_string(count - 1) + "; it is " + std::to_string(value));
}

/// The extents and parameters of a choice.
struct gemm_choice {
  std::int64_t batch, m, n, k;
  double alpha, beta;
  bool trans_a, trans_b;
  bias_kind bias;
  activation_function activation;

  gemm_choice(const shape& extents, const parameters& values)
      : batch(extents.contains("batch") ? extents.at("batch") : 1),
        m(extents.at("m")),
        n(extents.at("n")),
        k(extents.at("k")),
        alpha(values.at("alpha")),
        beta(values.at("beta")),
        trans_a(values.at("trans_a") != 0),
        trans_b(values.at("trans_b") != 0),
        bias(choice_of<bias_kind>(values, "bias", 3)),
        activation(choice_of<activation_function>(values, "activation", 6)) {}
  explicit gemm_choice(const specification& choice) : gemm_choice(choice.shape, choice.values) {}

  bool has_bias() const { return bias != bias_kind::none; }
  std::int64_t bias_entries() const { return bias == bias_kind::of_rows ? m : n; }
  flop_counts counts() const {
    return backend::canonical_gemm_counts(m, n, k, batch, alpha, beta, has_bias(), activation);
  }
};

/// The problem of a choice in row-major arrays at these addresses. The matrices of a batch are stacked: each begins
/// after the last row of the one before.
template <class T>
backend::gemm_problem<T> problem_of(const gemm_choice& what, const T* a, const T* b, T* c, const T* bias) {
  using parameter_type = typename backend::gemm_problem<T>::parameter_type;
  const auto placed = []<class Element>(Element* data, std::int64_t rows, std::int64_t columns, bool transposed) {
    const backend::gemm_matrix<Element> matrix{data, transposed ? rows : columns, 1, rows * columns};
    return transposed ? matrix.transposed() : matrix;
  };
  backend::gemm_problem<T> problem;
  problem.m = what.m;
  problem.n = what.n;
  problem.k = what.k;
  problem.batch = what.batch;
  problem.alpha = static_cast<parameter_type>(what.alpha);
  problem.beta = static_cast<parameter_type>(what.beta);
  problem.a = placed(a, what.m, what.k, what.trans_a);
  problem.b = placed(b, what.k, what.n, what.trans_b);
  problem.c = placed(c, what.m, what.n, false);
  problem.activation = what.activation;
  problem.has_bias = what.has_bias();
  problem.bias = {bias, what.bias == bias_kind::of_rows, what.bias == bias_kind::of_columns, 0};
  return problem;
}

/// Matrices of `rows` rows each, stacked in an array: a single matrix, or a batch.
template <bool IsBatched>
array_ref stacked(void* data, dtype type, memory_kind memory, std::int64_t batch, std::int64_t rows,
                  std::int64_t columns, std::int64_t row_stride, std::int64_t column_stride) {
  if constexpr (IsBatched) {
    return {data, type, {batch, rows, columns}, {rows * row_stride, row_stride, column_stride}, memory};
  } else {
    return {data, type, {rows, columns}, {row_stride, column_stride}, memory};
  }
}

/// The arguments of a choice's call. They are the arrays of a case while it runs, or arrays without memory.
template <bool IsBatched>
struct gemm_operands {
  array_ref a, b, c, bias;

  gemm_operands(const gemm_choice& what, dtype type, case_arrays arrays) {
    place(what, type, [&](std::size_t which, dtype element, std::int64_t rows, std::int64_t columns) {
      const array_ref& array = arrays[which];
      return stacked<IsBatched>(array.data, element, array.memory, what.batch, rows, columns, array.strides[0],
                                array.strides[1]);
    });
    if (what.has_bias()) bias = arrays[3];
  }

  gemm_operands(const gemm_choice& what, dtype type, array_layout layout) {
    place(what, type, [&](std::size_t, dtype element, std::int64_t rows, std::int64_t columns) {
      const bool is_left = layout == array_layout::left;
      const bool is_strided = layout == array_layout::strided;
      const std::int64_t row_stride = is_left ? 1 : is_strided ? 2 * columns + 3 : columns;
      const std::int64_t column_stride = is_left ? what.batch * rows : is_strided ? 2 : 1;
      return stacked<IsBatched>(nullptr, element, memory_kind::other, what.batch, rows, columns, row_stride,
                                column_stride);
    });
    bias = array_ref(nullptr, c.type, {what.bias_entries()}, {layout == array_layout::strided ? 2 : 1});
  }

  /// The same operands in other memory.
  void move_to(case_arrays arrays) {
    a.data = arrays[0].data;
    b.data = arrays[1].data;
    c.data = arrays[2].data;
    if (arrays.size() > 3) bias.data = arrays[3].data;
  }

 private:
  template <class Of>
  void place(const gemm_choice& what, dtype type, const Of& of) {
    a = of(0, type, what.trans_a ? what.k : what.m, what.trans_a ? what.m : what.k);
    b = of(1, type, what.trans_b ? what.n : what.k, what.trans_b ? what.k : what.n);
    c = of(2, product_result_type(type), what.m, what.n);
  }
};

inline transposition as_transposition(bool transposed) { return transposed ? transposition::yes : transposition::no; }

inline constexpr gemm_mode fast_modes[] = {gemm_mode::fast_tf32, gemm_mode::fast_bf16, gemm_mode::fast_f16,
                                           gemm_mode::fast_accumulation};

inline gemm_mode mode_of(const specification& choice) {
  for (const gemm_mode mode : fast_modes) {
    if (choice.compute_mode == gemm_mode_name(mode)) return mode;
  }
  return gemm_mode::strict;
}

inline void set_bias(gemm_options& options, const gemm_choice& what, const array_ref& bias) {
  if (what.bias == bias_kind::of_columns) options.column_bias = bias;
  if (what.bias == bias_kind::of_rows) options.row_bias = bias;
}

inline gemm_options options_of(const specification& choice, const gemm_choice& what, const array_ref& bias) {
  gemm_options options;
  if (choice.implementation != "auto") options.implementation = choice.implementation;
  options.mode = mode_of(choice);
  options.activation = what.activation;
  set_bias(options, what, bias);
  return options;
}

}  // namespace prumo::cases
