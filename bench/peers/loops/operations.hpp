// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What the loops compute: shapes, costs and reference values. The shapes are those of prumo's own cases.

#include "kernels.hpp"
#include <prumo/protocol/messages.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::peers {

enum class operation_shape : std::uint8_t { elementwise, reduction, product };

struct operation {
  std::string op;
  std::string description;
  operation_shape shape = operation_shape::elementwise;
  int inputs = 1;
  double flops_per_element = 0;
  std::vector<protocol::named_number> parameters;
  /// One entry of an element-wise result from the inputs' entries; the call's parameters are rounded to its type.
  long double (*exact)(const long double* inputs, const call& values) = nullptr;
  /// What an implementation's error is in units of the last place of; the result itself where there is none.
  long double (*error_scale)(const long double* inputs, const call& values) = nullptr;
  bool positive_inputs = false;  ///< absolute values of the generator's numbers
};

/// All operations that have an implementation here.
const std::vector<operation>& operations();

/// The implementations of an operation, the standard one first.
std::vector<implementation> implementations_of(std::string_view op);

/// One array of a call.
struct array_extent {
  std::int64_t elements = 0;
  bool is_input = true;  ///< filled with the generator's numbers
  bool is_output = false;
};

std::vector<array_extent> arrays_of(const operation& what, const call& extents);

/// Completes the extents and parameters of a request. Throws request_error (usage).
call resolve(const operation& what, const protocol::case_request& request, std::int64_t bytes_per_array,
             std::size_t value_bytes);

/// Shape, parameters, cost and footprint of a call as the protocol tells them. Throws request_error (memory) where the
/// bytes are beyond any machine.
protocol::resolve_answer describe(const operation& what, const call& extents, std::size_t value_bytes);

}  // namespace prumo::peers
