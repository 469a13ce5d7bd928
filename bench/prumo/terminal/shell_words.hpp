// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace prumo::bench {

/// A word as a shell reads it back: quoted where it has to be, so that a suggested command can be pasted. Characters
/// that a terminal would not show are spelled out in `$'...'`, as POSIX.1-2024, bash and zsh have it.
[[nodiscard]] std::string shell_quoted(std::string_view word);

}  // namespace prumo::bench
