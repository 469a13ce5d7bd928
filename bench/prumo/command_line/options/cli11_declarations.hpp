// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// CLI11's classes for headers that only name them: the library itself costs seconds in each file that includes it.

// NOLINTBEGIN(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI
// NOLINTEND(readability-identifier-naming)
