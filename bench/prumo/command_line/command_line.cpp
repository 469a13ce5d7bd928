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

std::string list_of(std::span<const verb* const> verbs, std::string_view indent) {
  std::size_t width = 10;
  for (const verb* it : verbs) width = std::max(width, it->name.size());
  std::string list;
  for (const verb* it : verbs) list += fmt::format("{}{:<{}} {}\n", indent, it->name, width, it->summary);
  return list;
}

std::string program_help() {
  return fmt::format(
      "prumo measures basic operations on the devices of this machine, and shows how close they come\nto what the "
      "devices "
      "can do.\n\n{}\n`prumo VERB --help` shows options and examples. `prumo --version` prints the "
      "version.\nBegin with: prumo bench --quick\n",
      list_of(verbs(), "  prumo "));
}

/// The verb of this name, with what stands in front of it: `data ` for an action of `data`.
const verb& find_verb(std::span<const verb* const> among, std::string_view before, const std::string& name) {
  std::vector<std::string> names;
  for (const verb* it : among) {
    names.emplace_back(it->name.substr(before.size()));
    if (names.back() == name) return *it;
  }
  if (name.starts_with("-")) {
    refuse_usage(
        fmt::format("unknown option '{0}'; options follow {1}: prumo {2}{3} {0}. `prumo {2}--help` explains them.",
                    name, before.empty() ? "a verb" : "an action", before, names.front()));
  }
  const char* kind = before.empty() ? "verb" : "action";
  refuse_usage(fmt::format("{} `prumo {}--help` explains them.", unknown_name_message(kind, name, names), before));
}

/// What a verb says that has actions and no options of its own.
std::string actions_help(const verb& which) {
  return fmt::format("{}\n{}\n{}\n", paragraph(which.description, {}), list_of(which.actions, "  prumo "),
                     which.examples);
}

bool asks_for_help(std::string_view word) { return word == "--help" || word == "-h" || word == "help"; }

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
  if (name == "--list") return answer(list_of(verbs(), ""));
  if (asks_for_help(name)) return answer(program_help());
  const verb& first = find_verb(verbs(), "", name);
  const std::string action = words.size() > 2 ? words[2] : "--help";
  if (!first.actions.empty() && asks_for_help(action)) return answer(actions_help(first));
  const verb& chosen = first.actions.empty() ? first : find_verb(first.actions, name + " ", action);
  const std::string full_name(chosen.name);

  CLI::App app(paragraph(chosen.description, {}), "prumo " + full_name);
  std::unique_ptr<verb_call> call = chosen.call();
  app.group("");
  call->add_options(app);
  app.footer(std::string(chosen.examples));
  app.get_formatter()->column_width(34);
  keep_line_breaks(*app.get_formatter());
  std::vector<std::string> rest(words.begin() + (first.actions.empty() ? 2 : 3), words.end());
  check_words(app, rest);
  std::ranges::reverse(rest);
  try {
    app.parse(rest);
  } catch (const CLI::CallForHelp&) {
    return answer(app.help());
  } catch (const CLI::ParseError& error) {
    refuse_words(app, full_name, error);
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
