// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What is recorded of the environment and the command line.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prumo::bench {

/// True for a variable of the environment that changes what libraries of threads, mathematics and devices do. No other
/// variables are recorded, because their values may be secrets.
[[nodiscard]] bool is_recorded_variable(std::string_view name);

/// The names of these variables.
[[nodiscard]] std::vector<std::string> recorded_variable_names();

/// Those of the variables that are recorded. \param variables an object of names and values, or null
[[nodiscard]] nlohmann::json recorded_variables(const nlohmann::json& variables);

/// The words of a command line for the record, with `...` for what may be a secret. This is the value of an option
/// whose name says so (`--token`), of a variable that is not recorded (`--launcher 'env NAME=... ssh node7'`), a
/// password in a URL, and the user and key of `ssh -i KEY USER@HOST`.
[[nodiscard]] std::vector<std::string> recorded_command(std::span<const std::string> words);

/// Replaces the value of each of these options by what `change` makes of it: `--worker VALUE` and `--worker=VALUE`.
template <class Change>
void change_values(std::vector<std::string>& words, std::initializer_list<std::string_view> options, Change change) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view option : options) {
      if (words[i] == option && i + 1 < words.size()) {
        words[i + 1] = change(words[i + 1]);
      } else if (words[i].starts_with(option) && words[i].substr(option.size()).starts_with('=')) {
        words[i] = std::string(option) + '=' + change(words[i].substr(option.size() + 1));
      }
    }
  }
}

}  // namespace prumo::bench
