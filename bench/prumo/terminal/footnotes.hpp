// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace prumo::bench {

/// Notes below a table; rows that share one share its number.
class footnotes {
 public:
  /// The mark of a note, `[2]`.
  std::string add(const std::string& note);

  /// The notes, a line each or more, with how many rows refer to them.
  [[nodiscard]] std::string render(const text_style& style) const;

 private:
  struct entry {
    std::string text;
    std::size_t rows;
  };
  std::vector<entry> notes_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace prumo::bench
