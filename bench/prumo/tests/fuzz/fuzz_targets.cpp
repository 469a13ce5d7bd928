// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fuzz_targets.hpp"

#include "command_line/command_line.hpp"
#include "command_line/options/option_values.hpp"
#include "comparison/choice.hpp"
#include "comparison/report/comparison_document.hpp"
#include "comparison/report/comparison_table.hpp"
#include "comparison/source.hpp"
#include "reports/bench_table.hpp"
#include "reports/device_table.hpp"
#include "reports/roofline_report.hpp"
#include "require.hpp"
#include "results/csv.hpp"
#include "results/results_file.hpp"
#include "terminal/shell_words.hpp"
#include "terminal/text.hpp"
#include "terminal/units.hpp"
#include "workers/worker_discovery.hpp"
#include <prumo/protocol/net_messages.hpp>
#include <prumo/protocol/parse_json.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace prumo::bench::fuzz {
namespace {

using nlohmann::json;

/// Calls `read`; refusals are fine, as long as their messages are.
template <class Read>
void refuse_or(Read read) {
  try {
    read();
  } catch (const file_error& error) {
    require_harmless(error.what());
  } catch (const program_error& error) {
    require_harmless(error.what());
  } catch (const unit_error& error) {
    require_harmless(error.what());
  }
}

const text_style narrow{60, false, true, false};
const text_style whole{100, false, false, true};

/// All that `prumo compare` does with two files, here the same one twice.
void compare_with_itself(const comparison_source& source, bool each_implementation) {
  refuse_or([&] {
    const comparison_source again = source;
    comparison_request request;
    request.each_implementation = each_implementation;
    request.files = {&source};
    if (!each_implementation) request.to = {&again};
    comparison compared = choose_comparison(request);
    comparison_view view;
    judge_cases(compared, view.judged_with);
    require_harmless(comparison_table(compared, view, narrow));
    require_harmless(dump_comparison(compared, view, {"prumo"}));
    require_harmless(comparison_csv(compared));
  });
}

/// What is read, written and read again must be the same.
template <class Message>
void read_and_write(const protocol::json& message) {
  try {
    const protocol::json written = protocol::write_message(protocol::read_message<Message>(message));
    require(protocol::write_message(protocol::read_message<Message>(written)) == written, "a message changed");
  } catch (const protocol::message_error&) {
  }
}

}  // namespace

void results(std::string_view text) {
  refuse_or([&] {
    const json document = parse_results(text, "fuzz.json");
    const std::string written = dump_results(document);
    require_harmless(written);
    require(dump_results(parse_results(written, "again.json")) == written, "a document changed when it was written");
    require_harmless(bench_table(document, narrow));
    require_harmless(devices_table(document.at("devices"), whole));
    require_harmless(roofline_table(document, {}, narrow));
    require_harmless(roofline_plots(document, {}, narrow));
    const std::string table = results_csv(document);
    require(sanitize(table, "\t\r\n") == table, "the table for spreadsheets holds control characters");
    const comparison_source source = source_of_results(document, "fuzz.json");
    compare_with_itself(source, false);
    compare_with_itself(source, true);
  });
}

void foreign_formats(std::string_view text) {
  refuse_or([&] {
    const comparison_source source = read_source(text, "fuzz.json", "/nonexistent");
    compare_with_itself(source, false);
  });
}

void protocol(std::string_view text) {
  if (text.empty()) return;
  protocol::json message;
  try {
    message = protocol::parse_json<protocol::json>(text.substr(1));
  } catch (const json::exception&) {
    return;
  } catch (const protocol::json_too_deep&) {
    return;
  }
  if (!message.is_object()) return;
  constexpr std::array readers{read_and_write<protocol::hello_answer>,    read_and_write<protocol::device_answer>,
                               read_and_write<protocol::resolve_answer>,  read_and_write<protocol::prepare_answer>,
                               read_and_write<protocol::verify_answer>,   read_and_write<protocol::count_answer>,
                               read_and_write<protocol::sample_answer>,   read_and_write<protocol::hello_request>,
                               read_and_write<protocol::device_request>,  read_and_write<protocol::resolve_request>,
                               read_and_write<protocol::prepare_request>, read_and_write<protocol::verify_request>,
                               read_and_write<protocol::count_request>,   read_and_write<protocol::sample_request>,
                               read_and_write<protocol::release_request>, read_and_write<protocol::open_request>,
                               read_and_write<protocol::open_answer>,     read_and_write<protocol::check_request>,
                               read_and_write<protocol::check_answer>,    read_and_write<protocol::time_request>,
                               read_and_write<protocol::evaluate_answer>, read_and_write<protocol::advance_request>,
                               read_and_write<protocol::advance_answer>,  read_and_write<protocol::save_request>,
                               read_and_write<protocol::save_answer>,     read_and_write<protocol::load_request>,
                               read_and_write<protocol::load_answer>};
  // The corpus begins with '<' for the first reader, so later ones change nothing.
  readers.at(static_cast<unsigned char>(text.front() - '<') % readers.size())(message);
}

void units(std::string_view text) {
  refuse_or([&] { require(parse_bytes(text) > 0, "a size of no bytes"); });
  refuse_or([&] {
    for (const std::uint64_t bytes : parse_byte_sizes(text)) require_harmless(format_bytes(bytes));
  });
  refuse_or([&] {
    const double seconds = parse_duration(text);
    require(std::isfinite(seconds) && seconds > 0, "a duration that is none");
    require_harmless(format_duration(seconds) + format_seconds(seconds) + format_rate(seconds, "B/s"));
  });
  refuse_or([&] {
    const double fraction = parse_percentage(text);
    require(std::isfinite(fraction) && fraction >= 0, "a percentage that is none");
    require_harmless(format_percent(100 * fraction));
  });
  refuse_or([&] {
    std::string command;
    const std::vector<std::string> words = split_command("--worker", text);
    for (const std::string& word : words) command += sanitize(word) + ' ';
    require_harmless(command);
  });
  const std::string shown = sanitize(text);
  require_harmless(shown);
  require(sanitize(shown) == shown, "sanitised text changed");
  require_harmless(sanitize_lines(shown));
  require_harmless(shell_quoted(text));
  for (const std::string& line : wrap(shown, 20)) require(display_width(line) <= 20, "a line is too wide");
  require(display_width(fit(shown, 20)) <= 20, "a text is too wide");
}

void command_line(std::string_view text) {
  std::vector<std::string> words{"prumo"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  refuse_or([&] { require_harmless(read_command_line(words).answer); });
  refuse_or([&] { std::ignore = split_list("--op", words); });
  refuse_or([&] { std::ignore = read_shapes(words); });
  refuse_or([&] { std::ignore = read_assignments("--set", words, false); });
}

}  // namespace prumo::bench::fuzz
