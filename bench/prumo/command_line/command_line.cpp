// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line/command_line.hpp"

#include "command_line/usage_errors.hpp"
#include "command_line/verbs/verb.hpp"
#include "results/run_record.hpp"
#include "terminal/nearest_name.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw program_error(exit_code::wrong_usage, message); }

std::string verbs_list(std::string_view indent) {
  std::string list;
  for (const verb* it : verbs()) list += fmt::format("{}{:<10} {}\n", indent, it->name, it->summary);
  return list;
}

std::string program_help() {
  return fmt::format(
      "prumo measures basic operations on the devices of this machine, and shows how close they come\nto what the "
      "devices "
      "can do.\n\n{}\n`prumo VERB --help` shows options and examples. `prumo --version` prints the "
      "version.\nBegin with: prumo bench --quick\n",
      verbs_list("  prumo "));
}

const verb& find_verb(const std::string& name) {
  std::vector<std::string> names;
  for (const verb* it : verbs()) {
    if (it->name == name) return *it;
    names.emplace_back(it->name);
  }
  if (name.starts_with("-")) {
    refuse(fmt::format("unknown option '{}'; options follow a verb: prumo {} {}. `prumo --help` explains the verbs.",
                       name, names.front(), name));
  }
  refuse(fmt::format("{} `prumo --help` explains them.", unknown_name_message("verb", name, names)));
}

/// Examples stand in columns; newer versions of CLI11 would flow them into a paragraph.
template <class Formatter>
void keep_line_breaks(Formatter& formatter) {
  if constexpr (requires { formatter.enable_footer_formatting(false); }) {
    formatter.enable_footer_formatting(false);
    formatter.enable_description_formatting(false);
  }
}

}  // namespace

requested_command read_command_line(std::span<const std::string> words) {
  const std::string name = words.size() > 1 ? words[1] : std::string("--help");
  const auto answer = [](std::string text) { return requested_command{nullptr, std::move(text)}; };
  if (name == "--version" || name == "-V") return answer(fmt::format("prumo {}\n", program_version()));
  if (name == "--list") return answer(verbs_list(""));
  if (name == "--help" || name == "-h" || name == "help") return answer(program_help());
  const verb& chosen = find_verb(name);

  CLI::App app(paragraph(chosen.description, {}), "prumo " + name);
  std::unique_ptr<verb_call> call = chosen.call();
  app.group("");
  call->add_options(app);
  app.footer(std::string(chosen.examples));
  app.get_formatter()->column_width(34);
  keep_line_breaks(*app.get_formatter());
  std::vector<std::string> rest(words.begin() + 2, words.end());
  check_words(app, rest);
  std::ranges::reverse(rest);
  try {
    app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    return answer(app.help());
  } catch (const CLI::ParseError& error) {
    refuse_words(app, name, error);
  }
  check_no_empty_values(app);
  return {std::move(call), {}};
}

exit_code run_command_line(std::span<const std::string> words) {
  const requested_command command = read_command_line(words);
  if (command.call) return command.call->run(std::vector<std::string>(words.begin(), words.end()));
  print_output(command.answer);
  return exit_code::done;
}

}  // namespace prumo::bench
