// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/option_values.hpp"

#include "terminal/nearest_name.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>

namespace prumo::bench {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw program_error(exit_code::wrong_usage, message); }

}  // namespace

CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description, const std::string& type) {
  return app.add_option(name, target, description)->allow_extra_args(false)->type_name(type);
}

CLI::Option* add_output(CLI::App& app, const std::string& name, std::string& target, const std::string& description) {
  const auto refuse_empty = [](const std::string& path) {
    return path.empty() ? std::string("the name of the file is empty; is a shell variable not set?") : std::string();
  };
  return app.add_option(name, target, description)->check(refuse_empty)->type_name("FILE")->group("Output");
}

CLI::Option* add_force(CLI::App& app, bool& target) {
  return app
      .add_flag("--force", target,
                "replace older results in the files, as soon as there are new ones. Without it they are refused. What "
                "prumo did not write is never replaced")
      ->group("Output");
}

CLI::Option* add_anonymous(CLI::App& app, bool& target) {
  return app
      .add_flag("--anonymous", target,
                "for a file to publish: without the names of host and user, the home folder, the command of --launcher "
                "and the identities of devices")
      ->group("Output");
}

std::vector<std::string> split_list(const char* option, const std::vector<std::string>& words) {
  std::vector<std::string> values;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end == begin) refuse(fmt::format("{}: an empty name in '{}'", option, word));
      values.push_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return values;
}

std::map<std::string, double> read_assignments(const char* option, const std::vector<std::string>& words,
                                               bool extents) {
  std::map<std::string, double> values;
  for (const std::string& entry : split_list(option, words)) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, std::min(equals, entry.size()));
    const std::string text = equals == std::string::npos ? std::string() : entry.substr(equals + 1);
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    const bool whole = std::trunc(value) == value && value >= 0 && value < 9e15;
    if (name.empty() || used == 0 || used != text.size() || !std::isfinite(value) || (extents && !whole)) {
      refuse(fmt::format("{}: '{}' is not NAME={}", option, entry, extents ? "EXTENT (a whole number)" : "NUMBER"));
    }
    if (!values.emplace(name, value).second) refuse(fmt::format("{}: '{}' is given twice", option, name));
  }
  return values;
}

void check_choice(const char* option, const std::string& value, const std::vector<std::string>& known) {
  if (std::ranges::find(known, value) != known.end()) return;
  throw program_error(exit_code::wrong_usage,
                      fmt::format("{}: {}", option, unknown_name_message("value", value, known)));
}

}  // namespace prumo::bench
