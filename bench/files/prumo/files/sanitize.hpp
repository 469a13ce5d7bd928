// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>

namespace prumo::bench {

/// Makes text from outside harmless for a terminal and a table. What is not visible, or changes how other text is
/// shown, is spelled out: `\x1b` for a control character or a byte of broken UTF-8, `\u202e` for a direction override,
/// a zero-width character, a separator of lines, or a control character of Latin-1. Line breaks and tabs become blanks.
/// Text without such characters stays as it is, so sanitised text does, too. So do the characters of `kept`: with
/// "\n" JSON text stays the same document.
[[nodiscard]] std::string sanitize(std::string_view text, std::string_view kept = {});

/// Like sanitize(), for whole lines that this program has put together: line breaks and the colours of emphasize()
/// stay.
[[nodiscard]] std::string sanitize_lines(std::string_view text);

}  // namespace prumo::bench
