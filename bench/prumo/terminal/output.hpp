// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace prumo::bench {

/// Writes whole lines for people. All such text passes here, so that nothing from files, workers or arguments can talk
/// to the terminal: line breaks and the colours of emphasize() stay, and the rest is sanitised.
void print_lines(std::FILE* to, std::string_view text);

/// Writes one message to standard error, `prumo: MESSAGE`.
void print_message(std::string_view message);

/// A word as a shell reads it back: quoted where it has to be, so that a suggested command can be pasted. Characters
/// that a terminal would not show are spelled out in `$'...'`, as POSIX.1-2024, bash and zsh have it.
[[nodiscard]] std::string shell_quoted(std::string_view word);

/// A file name for a suggested command. One that would be taken for an option begins with `./`.
[[nodiscard]] std::string shell_quoted_path(std::string_view path);

}  // namespace prumo::bench
