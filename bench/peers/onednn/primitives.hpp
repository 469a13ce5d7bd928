// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// prumo's operations in oneDNN's terms.

#include "operations.hpp"

#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace prumo::peers {

dnnl::memory::data_type data_type_of(dtype type);

/// An array as a primitive takes it.
struct primitive_argument {
  int role;  ///< DNNL_ARG_SRC, ...
  dnnl::memory::desc layout;
};

struct described_primitive {
  dnnl::primitive_desc_base description;
  std::vector<primitive_argument> arguments;  ///< in the order of the call's arrays
};

/// Whether some primitive computes the operation.
bool has_primitive(const operation& what);

/// The primitive that computes an operation with these extents and parameters. Throws dnnl::error where the engine has
/// none for them.
described_primitive describe_primitive(const dnnl::engine& engine, const operation& what, dtype type,
                                       const call& extents);

}  // namespace prumo::peers
