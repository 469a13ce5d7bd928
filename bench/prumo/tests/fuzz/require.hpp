// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace prumo::bench::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// What is printed must not talk to the terminal.
inline void require_harmless(const std::string& text) {
  require(sanitize(text, "\r\n") == text, "text for the terminal holds control characters");
}

}  // namespace prumo::bench::fuzz
