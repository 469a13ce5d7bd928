// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/usage_errors.hpp"

#include "terminal/nearest_name.hpp"
#include "terminal/program_error.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace prumo::bench {
namespace {

[[noreturn]] void refuse_empty(std::string_view name) {
  refuse_usage(fmt::format("{} has an empty value; is a shell variable not set?", name));
}

/// Names the word that CLI11 could not place, and the option that was meant.
std::string explain_extras(const CLI::App& app, std::string_view verb) {
  const std::vector<std::string> extras = app.remaining();
  const std::string word = extras.empty() ? std::string() : extras.front();
  if (!word.starts_with("-")) {
    return fmt::format("unexpected word '{}'; `prumo {} --help` shows the options", word, verb);
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string near = nearest_name(name, known);
  return fmt::format("unknown option '{}'{} `prumo {} --help` lists the options.", name,
                     near.empty() ? "." : fmt::format("; did you mean '{}'?", near), verb);
}

}  // namespace

void check_words(const CLI::App& app, std::span<const std::string> words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (option == nullptr) continue;
    if (option->get_items_expected_max() == 0) {
      refuse_usage(fmt::format("{} takes no value, but got '{}'; write {} alone", name, word.substr(equals + 1), name));
    }
    if (equals + 1 == word.size()) refuse_empty(name);
  }
}

void check_no_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!std::ranges::any_of(option->results(), [](const std::string& it) { return it.empty(); })) continue;
    refuse_empty(option->get_positional() ? option->get_type_name() : option->get_name());
  }
}

void refuse_words(const CLI::App& app, std::string_view verb, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  const std::string other = text.substr(text.rfind(' ') + 1);
  const CLI::Option* const option = app.get_option_no_throw(name);
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (kind == CLI::ExitCodes::ExtrasError) refuse_usage(explain_extras(app, verb));
  if (kind == CLI::ExitCodes::ExcludesError)
    refuse_usage(fmt::format("{} and {} exclude each other; give one of them", name, other));
  if (kind == CLI::ExitCodes::RequiresError)
    refuse_usage(fmt::format("{} goes with {}; give both or neither", name, other));
  if (kind == CLI::ExitCodes::RequiredError && option != nullptr) {
    refuse_usage(fmt::format("{} is missing; `prumo {} --help` has examples", option->get_type_name(), verb));
  }
  if (kind == CLI::ExitCodes::ArgumentMismatch && option != nullptr) {
    const bool takes_one = option->get_items_expected_max() == 1;
    if (takes_one && option->count() > 1)
      refuse_usage(fmt::format("{} is given {} times; give it once", name, option->count()));
    refuse_usage(
        fmt::format("{} needs a value ({}); `prumo {} --help` explains it", name, option->get_type_name(), verb));
  }
  refuse_usage(fmt::format("{}; `prumo {} --help` explains the options", text, verb));
}

}  // namespace prumo::bench
