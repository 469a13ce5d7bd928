// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// A table of how prumo's devices do over all shapes of an operation, beside their ceilings and beside each peer of the
/// same kind of device; and the worst shapes, each with the command that measures it again.
///
/// \param document of a run of random shapes
[[nodiscard]] std::string random_shapes_report(const nlohmann::json& document, const text_style& style);

}  // namespace prumo::bench
