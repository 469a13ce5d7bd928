// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/options/option_values.hpp"

#include "terminal/nearest_name.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <optional>
#include <system_error>

namespace prumo::bench {
namespace {

/// Absent if the text is anything but a finite number.
std::optional<double> finite_number(const std::string& text) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used == text.size() && std::isfinite(value)) return value;
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

}  // namespace

CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description, const std::string& type) {
  return app.add_option(name, target, description)->allow_extra_args(false)->type_name(type);
}

CLI::Option* add_output(CLI::App& app, const std::string& name, std::string& target, const std::string& description) {
  return app.add_option(name, target, description)->type_name("FILE")->group("Output");
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
                "for files to publish: without the names of host and user, the home folder, the command of --launcher "
                "and the identities of devices")
      ->group("Output");
}

std::vector<std::string> split_list(const char* option, const std::vector<std::string>& words) {
  std::vector<std::string> values;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    while (begin <= word.size()) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      if (end == begin) {
        refuse_usage(fmt::format("{}: an empty name in '{}'; give names with a comma between them", option, word));
      }
      values.push_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return values;
}

std::uint64_t read_whole_number(const char* option, std::string_view text, std::uint64_t lowest,
                                std::uint64_t highest) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest) {
    refuse_usage(fmt::format("{}: '{}' is not a whole number from {} to {}; write it in digits, as in {} {}", option,
                             text, lowest, highest, option, std::max<std::uint64_t>(lowest, 10)));
  }
  return value;
}

double read_amount(const char* option, const std::string& text, const char* example) {
  const auto value = finite_number(text);
  if (!value || *value < 0) {
    refuse_usage(
        fmt::format("{}: '{}' is not a number of zero or more; for example {} {}", option, text, option, example));
  }
  return *value;
}

std::map<std::string, double> read_assignments(const char* option, const std::vector<std::string>& words,
                                               bool extents) {
  std::map<std::string, double> values;
  for (const std::string& entry : split_list(option, words)) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, std::min(equals, entry.size()));
    const std::string text = equals == std::string::npos ? std::string() : entry.substr(equals + 1);
    const double value = finite_number(text).value_or(std::nan(""));
    const bool whole = std::trunc(value) == value && value >= 0 && value < 9e15;
    if (name.empty() || std::isnan(value) || (extents && !whole)) {
      refuse_usage(fmt::format("{}: '{}' is not NAME={}", option, entry,
                               extents ? "EXTENT, a whole number from 0 up; for example --shape rows=100,columns=1024"
                                       : "NUMBER; for example --set alpha=2,trans_a=1"));
    }
    if (!values.emplace(name, value).second) {
      refuse_usage(fmt::format("{}: '{}' is given twice; give it once", option, name));
    }
  }
  return values;
}

std::vector<std::map<std::string, double>> read_shapes(const std::vector<std::string>& words) {
  std::vector<std::map<std::string, double>> shapes;
  for (const std::string& word : words) {
    auto shape = read_assignments("--shape", {word}, true);
    if (std::ranges::find(shapes, shape) != shapes.end()) {
      refuse_usage(fmt::format("--shape: '{}' is given twice; give it once", word));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void check_choice(const char* option, const std::string& value, const std::vector<std::string>& known) {
  if (std::ranges::find(known, value) != known.end()) return;
  throw program_error(exit_code::wrong_usage,
                      fmt::format("{}: {}", option, unknown_name_message("value", value, known)));
}

}  // namespace prumo::bench
