// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What tells one build of a program from another. The version does not: it stays while the code changes.

#include <string>

namespace prumo::protocol {

/// 16 hexadecimal digits that change if the code of this program or of its shared libraries of prumo and Kokkos
/// changes. They come from the build ids that the linker wrote (`.note.gnu.build-id`), or else from the bytes of the
/// program. Empty if neither can be read. Other libraries are not part of it, because they tell their versions.
std::string build_identity();

}  // namespace prumo::protocol
