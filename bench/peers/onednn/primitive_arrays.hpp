// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What layers and nets of oneDNN share.

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <unordered_map>

namespace prumo::peers {

/// The arrays that a call of a primitive takes. The keys are their roles, such as DNNL_ARG_SRC.
using primitive_arrays = std::unordered_map<int, dnnl::memory>;

/// The name of the way that takes arrays as they are, without reorders.
inline constexpr std::string_view plain_way = "plain";

}  // namespace prumo::peers
