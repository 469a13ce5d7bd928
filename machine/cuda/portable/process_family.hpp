// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

namespace prumo::machine::cuda {

/// The process that started another; none where the system does not tell.
std::optional<unsigned> parent_of(unsigned process);

/// This process and those that the same process started, of `processes`: the workers of one run. A process whose
/// parent has ended belongs to none.
std::vector<unsigned> family_among(const std::vector<unsigned>& processes);

}  // namespace prumo::machine::cuda
