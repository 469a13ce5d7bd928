// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace prumo::cases::detail {

/// Asks the system to put memory that nobody has touched yet on its huge pages, where it is so large that NumPy asks
/// for the same: the arrays of peers lie on such pages, and translating addresses takes a tenth of the time of a
/// reduction, and more of a transpose. Does nothing where a system has no such request.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace prumo::cases::detail
