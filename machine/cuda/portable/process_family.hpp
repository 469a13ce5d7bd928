// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

namespace prumo::machine::cuda {

/// The process that started `process`; none if the system does not say.
std::optional<unsigned> parent_of(unsigned process);

/// Those of `processes` that are workers of this run: this process, and all that were started by the same process. A
/// process whose parent has ended is not among them.
std::vector<unsigned> family_among(const std::vector<unsigned>& processes);

}  // namespace prumo::machine::cuda
