// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// The verbs that this program has.
[[nodiscard]] std::vector<std::string> verb_names();

/// What `prumo` alone and `prumo --help` print.
[[nodiscard]] std::string program_help();

/// What `prumo --list` prints: a verb a line.
[[nodiscard]] std::string verbs_list();

/// The first lines and the examples of a verb's help.
[[nodiscard]] std::string verb_description(std::string_view verb);
[[nodiscard]] std::string verb_examples(std::string_view verb);

}  // namespace prumo::bench
