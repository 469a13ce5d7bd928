// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "command_line/options/cli11_declarations.hpp"
#include "terminal/program_error.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

// What values on the command line look like, the same for every verb. All throw program_error (wrong usage) that names
// the option.

/// An option that takes one word of `type` and may be given several times.
CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description, const std::string& type);

/// An option that names a file to write.
CLI::Option* add_output(CLI::App& app, const std::string& name, std::string& target, const std::string& description);

/// The flag that allows a command to replace older results.
CLI::Option* add_force(CLI::App& app, bool& target);

/// The flag that leaves out who measured and where.
CLI::Option* add_anonymous(CLI::App& app, bool& target);

/// The values of `words`, each of which may hold several separated by commas.
[[nodiscard]] std::vector<std::string> split_list(const char* option, const std::vector<std::string>& words);

/// A number without sign, decimals and exponent, at least `lowest` and at most `highest`.
[[nodiscard]] std::uint64_t read_whole_number(const char* option, std::string_view text, std::uint64_t lowest,
                                              std::uint64_t highest);

/// A number of zero or more, such as 1000000 or 1e9.
[[nodiscard]] double read_amount(const char* option, const std::string& text, const char* example);

/// `NAME=NUMBER,...`; whole numbers from zero up where `extents` is set.
[[nodiscard]] std::map<std::string, double> read_assignments(const char* option, const std::vector<std::string>& words,
                                                             bool extents);

/// Reads the shapes of --shape. Each word is one shape, written as AXIS=N,...
/// \throws program_error (wrong usage) also if two are the same
[[nodiscard]] std::vector<std::map<std::string, double>> read_shapes(const std::vector<std::string>& words);

/// Refuses a value that is none of `known`.
void check_choice(const char* option, const std::string& value, const std::vector<std::string>& known);

/// The value from one of the readers in units.hpp. Their error messages get the option's name in front.
template <typename Reader>
[[nodiscard]] auto read_quantity(const char* option, Reader reader) {
  try {
    return reader();
  } catch (const unit_error& error) {
    throw program_error(exit_code::wrong_usage, fmt::format("{}: {}", option, error.what()));
  }
}

}  // namespace prumo::bench
