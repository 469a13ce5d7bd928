// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <span>
#include <string>
#include <string_view>

// NOLINTBEGIN(readability-identifier-naming)
namespace CLI {
class App;
class ParseError;
}  // namespace CLI
// NOLINTEND(readability-identifier-naming)

namespace prumo::bench {

// What is wrong with the options of a verb, said in the same way for all: the option, what is wrong, and what to do.
// All throw program_error (wrong usage).

/// Refuses what CLI11 would take for something else: flags with a value (`--quick=3`), and `--size=` without one.
void check_words(const CLI::App& app, std::span<const std::string> words);

/// Refuses empty values. Most often they come from a shell variable that is not set, and what it should choose would
/// silently not be chosen.
void check_no_empty_values(const CLI::App& app);

/// Says what CLI11 found to be wrong.
[[noreturn]] void refuse_words(const CLI::App& app, std::string_view verb, const CLI::ParseError& error);

}  // namespace prumo::bench
