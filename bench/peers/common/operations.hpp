// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The operations of peers, with their shapes and costs. These are the same as in prumo's own cases, because results
/// are matched by them.

#include "call.hpp"
#include "scalars.hpp"
#include <prumo/protocol/messages.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::peers {

enum class operation_shape : std::uint8_t {
  elementwise,    ///< n
  transposition,  ///< m x n to n x m
  reduction,      ///< n to one
  row_reduction,  ///< m x n to m
  rows,           ///< m x n to m x n, each row by itself
  product,        ///< m, n, k
  convolution,    ///< this and those below: layer_extents
  pooling,
  dense,
};

/// The kinds of reductions.
enum class reduction_kind : std::uint8_t { sum, sum_of_squares, mean, max, min };  // of windows mean and max

struct operation {
  std::string op;
  std::string description;
  operation_shape shape = operation_shape::elementwise;
  int inputs = 1;
  double flops_per_element = 0;
  std::vector<protocol::named_number> parameters = {};
  /// One entry of an element-wise result from the inputs' entries; the call's parameters are rounded to its type.
  long double (*exact)(const long double* inputs, const call& values) = nullptr;
  /// The number whose units in the last place are the unit of the error; without this function it is the result.
  long double (*error_scale)(const long double* inputs, const call& values) = nullptr;
  bool positive_inputs = false;  ///< absolute values of the generator's numbers
  bool in_default_sweep = false;
  std::optional<dtype> output_type = std::nullopt;  ///< if it is not the type of the inputs
  reduction_kind reduces_by = reduction_kind::sum;
  bool logarithm = false;  ///< of softmax
};

/// All operations that a peer may have.
const std::vector<operation>& all_operations();

/// The operation of that name, or nullptr.
const operation* find_operation(std::string_view op);

/// Whether its extents are those of a net's layer.
constexpr bool is_layer(const operation& what) { return what.shape >= operation_shape::convolution; }

/// The inputs that a call reads. axpby does not read an input whose factor is 0.
int inputs_read(const operation& what, const call& values);

/// One array of a call.
struct array_extent {
  std::int64_t elements = 0;
  bool is_input = true;  ///< filled with the generator's numbers
  dtype type = dtype::f32;
};

/// The arrays, the output last.
std::vector<array_extent> arrays_of(const operation& what, dtype type, const call& extents);

/// The bytes that a call brings into the caches: whole lines of each array.
std::size_t touched_bytes(const operation& what, dtype type, const call& extents);

/// The axes for the protocol, with defaults for extents that may be left out.
std::vector<protocol::named_number> axes_of(const operation& what);

/// Completes the extents and parameters of a request. Throws request_error (usage).
call resolve(const operation& what, const protocol::case_request& request, std::int64_t bytes_per_array, dtype type);

/// Shape, parameters, cost and footprint of a call for the protocol. Throws request_error (memory) if no machine has so
/// much memory.
protocol::resolve_answer describe(const operation& what, const call& extents, dtype type);

}  // namespace prumo::peers
