// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the products of matrices and vectors are told beside their arrays.

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
/// `strict`: every product and sum in the compute type (f32 for f16 and bf16), whatever the environment of a library
/// says; sums of f8 products in f32, except for short stretches of them that stay in a unit for matrix products.
/// `fast_tf32`, `fast_bf16` and `fast_f16` allow the inputs of an f32 product to be rounded to TF32 (11 bits), bf16 or
/// f16 first, where the device has units for it. `fast_accumulation` lets all sums of an f8 product stay in the unit,
/// which may keep fewer bits than f32 has.
enum class gemm_mode : std::uint8_t { strict, fast_tf32, fast_bf16, fast_f16, fast_accumulation };

/// The name of a mode as results and options spell it: `strict`, `fast_tf32`, `fast_bf16`, `fast_f16`,
/// `fast_accumulation`.
constexpr std::string_view gemm_mode_name(gemm_mode mode) {
  constexpr std::string_view names[] = {"strict", "fast_tf32", "fast_bf16", "fast_f16", "fast_accumulation"};
  return names[static_cast<std::size_t>(mode)];
}

/// The function that a product's entries go through on their way to C. The formulas are those of
/// <prumo/activation.hpp>.
enum class activation_function : std::uint8_t { none, relu, sigmoid, tanh, gelu, gelu_by_tanh };

/// The name of a function as messages and regions spell it: `none`, `relu`, `sigmoid`, `tanh`, `gelu`, `gelu_by_tanh`.
constexpr std::string_view activation_name(activation_function function) {
  constexpr std::string_view names[] = {"none", "relu", "sigmoid", "tanh", "gelu", "gelu_by_tanh"};
  return names[static_cast<std::size_t>(function)];
}

/// How a matrix product is to be computed, and what is done to its entries on their way to C.
struct gemm_options {
  /// The implementation to take, by name (`portable`, `cblas`); empty for the first one that can.
  std::string_view implementation = {};
  gemm_mode mode = gemm_mode::strict;
  activation_function activation = activation_function::none;
  /// A vector of C's type. Its entry j is added to column j of C, that of every matrix of a batch.
  std::optional<array_ref> column_bias = {};
  /// A vector of C's type. Its entry i is added to row i of C. At most one of the two biases is given.
  std::optional<array_ref> row_bias = {};
};

/// How a product of a matrix and a vector is to be computed.
struct gemv_options {
  /// The implementation to take, by name (`portable`, `cblas`); empty for the first one that can.
  std::string_view implementation = {};
};

}  // namespace prumo
