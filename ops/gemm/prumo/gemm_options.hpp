// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The options of products of matrices and vectors.

#include <prumo/array_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace prumo {

/// How a matrix enters a product: as it is, or transposed. A conjugate would be a third value.
enum class transposition : std::uint8_t { no, yes };

/// How exactly a matrix product is computed.
///
/// - `strict`: every product and sum is computed in the compute type (f32 for f16 and bf16), whatever a library's
///   environment variables say. Sums of f8 products are in f32, except for short parts of them in a unit for matrix
///   products.
/// - `fast_tf32`, `fast_bf16` and `fast_f16`: the inputs of an f32 product may be rounded to TF32 (11 bits), bf16 or
///   f16, if the device has units for that.
/// - `fast_accumulation`: all sums of an f8 product may stay in the unit, which may have fewer bits than f32.
enum class gemm_mode : std::uint8_t { strict, fast_tf32, fast_bf16, fast_f16, fast_accumulation };

/// The name of a mode in results and options: `strict`, `fast_tf32`, `fast_bf16`, `fast_f16`,
/// `fast_accumulation`.
constexpr std::string_view gemm_mode_name(gemm_mode mode) {
  constexpr std::string_view names[] = {"strict", "fast_tf32", "fast_bf16", "fast_f16", "fast_accumulation"};
  return names[static_cast<std::size_t>(mode)];
}

/// The function that is applied to a product's entries before they are stored in C. The formulas are those of
/// <prumo/activation.hpp>.
enum class activation_function : std::uint8_t { none, relu, sigmoid, tanh, gelu, gelu_by_tanh };

/// The name of a function in messages and regions: `none`, `relu`, `sigmoid`, `tanh`, `gelu`, `gelu_by_tanh`.
constexpr std::string_view activation_name(activation_function function) {
  constexpr std::string_view names[] = {"none", "relu", "sigmoid", "tanh", "gelu", "gelu_by_tanh"};
  return names[static_cast<std::size_t>(function)];
}

/// How a matrix product is computed, and what is done with its entries before they are stored in C.
struct gemm_options {
  /// The name of the implementation to use (`portable`, `cblas`); empty for the first one that can compute the product.
  std::string_view implementation = {};
  gemm_mode mode = gemm_mode::strict;
  activation_function activation = activation_function::none;
  /// A vector of C's type. Its entry j is added to column j of C, in every matrix of a batch.
  std::optional<array_ref> column_bias = {};
  /// A vector of C's type. Its entry i is added to row i of C. Only one of the two biases may be given.
  std::optional<array_ref> row_bias = {};
};

/// How a product of a matrix and a vector is computed.
struct gemv_options {
  /// The name of the implementation to use (`portable`, `cblas`); empty for the first one that can compute the product.
  std::string_view implementation = {};
};

}  // namespace prumo
