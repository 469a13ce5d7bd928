// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The layers of nets as operations, in oneDNN's terms.

#include "operations.hpp"

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string>
#include <vector>

namespace prumo::peers {

/// The ways in which oneDNN computes an operation, the usual one first: `reordered` lets the primitive choose how its
/// arrays lie, and each call reorders them to that and back, as frameworks do that keep images channel by channel.
/// `plain` gives it the arrays as they are. Pooling has the second alone.
std::vector<std::string> layer_ways(const operation& what);

/// Throws dnnl::error where the engine has no primitive for the operation.
void require_layer_primitive(const dnnl::engine& engine, const operation& what, dtype type, const call& extents);

/// A function for each of the calls. What they need beside their arrays they share.
std::vector<std::function<void()>> bind_layer(const dnnl::engine& engine, const dnnl::stream& stream,
                                              const operation& what, const std::string& way, dtype type,
                                              std::span<const call> calls);

}  // namespace prumo::peers
