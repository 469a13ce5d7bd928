// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inference/inference_report.hpp"

#include "reports/result_cells.hpp"
#include "statistics/statistics.hpp"
#include "terminal/footnotes.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using align = text_table::align;
using role = text_table::role;

bool is_of_a_net(const json& result) { return field(result, "/net").is_string(); }

std::int64_t images_of(const json& result) {
  return static_cast<std::int64_t>(number_of(field(result, "/shape/images")).value_or(0));
}

/// `conv1+pool1` of `lenet5/conv1+pool1`, `net`, `program`.
std::string part_of(const json& result) {
  const std::string op = text_of(field(result, "/op"));
  const std::size_t slash = op.rfind('/');
  return slash == std::string::npos ? "program" : op.substr(slash + 1);
}

int place_of_kind(const json& result) {
  const std::string kind = text_of(field(result, "/kind"));
  return kind == "inference" ? 0 : kind == "layer" ? 1 : 2;
}

/// Orders rows by type and number of images, then by device. A device has the net, its steps in their order, the
/// program.
std::vector<const json*> in_order(const json& results) {
  std::vector<const json*> rows;
  for (const json& result : results) {
    if (is_of_a_net(result)) rows.push_back(&result);
  }
  std::ranges::stable_sort(rows, {}, [](const json* it) {
    return std::tuple(text_of(field(*it, "/dtype")), images_of(*it), place_of_kind(*it) == 2,
                      text_of(field(*it, "/device")), text_of(field(*it, "/implementation")),
                      text_of(field(*it, "/data")), data_cell(*it), place_of_kind(*it));
  });
  return rows;
}

/// Images a second. A program runs all images of its files, however many it runs at once.
std::string image_rate(const json& result) {
  const auto seconds = number_of(field(result, "/time_s/median"));
  if (!seconds) return {};
  const bool is_program = place_of_kind(result) == 2;
  const double images =
      is_program ? number_of(field(result, "/accuracy/images")).value_or(0) : static_cast<double>(images_of(result));
  return images > 0 ? format_rate(images / *seconds, "") : std::string();
}

std::string flop_rate(const json& result) {
  const auto seconds = number_of(field(result, "/time_s/median"));
  const auto flops = number_of(field(result, "/flops/model"));
  return seconds && flops && *flops > 0 ? format_rate(*flops / *seconds, "FLOP/s") : std::string();
}

std::string times_table(const std::vector<const json*>& rows, footnotes& notes, const text_style& style) {
  text_table table({{"part", align::left},
                    {"device", align::left, role::axis},
                    {"implementation", align::left, role::axis},
                    {"images from", align::left, role::axis},
                    {"time", align::right},
                    {style.unicode ? "±" : "+-", align::left, role::detail},
                    {"images/s", align::right},
                    {"rate", align::right},
                    {"% of roofline", align::right},
                    {"bound", align::left, role::detail},
                    {"h2d", align::right, role::detail},
                    {"d2h", align::right, role::detail},
                    {"check", align::left}});
  for (const json* row : rows) {
    const json& result = *row;
    const std::string status = text_of(field(result, "/status"));
    if (status != "ok" && status != "failed") continue;
    table.add_heading(fmt::format("{} {}, {} images a call", text_of(field(result, "/net")),
                                  text_of(field(result, "/dtype")), images_of(result)));
    const bool is_program = place_of_kind(result) == 2;
    table.add_row({{part_of(result)},
                   {text_of(field(result, "/device"))},
                   {text_of(field(result, "/implementation"))},
                   {is_program ? "files" : data_cell(result)},
                   {seconds_cell(field(result, "/time_s/median"), style)},
                   {spread_cell(result, style)},
                   {image_rate(result)},
                   {flop_rate(result)},
                   {is_program ? std::string() : percent_cell(field(result, "/percent/roofline"))},
                   {is_program ? std::string() : bound_cell(result)},
                   {seconds_cell(field(result, "/transfer/h2d_s"), style)},
                   {seconds_cell(field(result, "/transfer/d2h_s"), style)},
                   check_cell(result, notes)});
  }
  return table.render(style);
}

std::string program_table(const std::vector<const json*>& rows, const text_style& style) {
  text_table table({{"program", align::left},
                    {"implementation", align::left, role::axis},
                    {"images a call", align::right},
                    {"elapsed", align::right},
                    {"user", align::right},
                    {"system", align::right},
                    {"share of CPU", align::right},
                    {"memory", align::right},
                    {"start", align::right},
                    {"load", align::right},
                    {"place", align::right},
                    {"compute", align::right},
                    {"end", align::right}});
  for (const json* row : rows) {
    const json& usage = field(*row, "/usage");
    if (!usage.is_object()) continue;
    const auto seconds = [&](const char* name) { return seconds_cell(field(usage, name), style); };
    const auto share = number_of(field(usage, "/cpu_share"));
    const auto memory = number_of(field(usage, "/peak_memory_bytes"));
    table.add_row({{fmt::format("{} {}", text_of(field(*row, "/device")), text_of(field(*row, "/dtype")))},
                   {text_of(field(*row, "/implementation"))},
                   {fmt::format("{}", images_of(*row))},
                   {seconds_cell(field(*row, "/time_s/median"), style)},
                   {seconds("/user_s")},
                   {seconds("/system_s")},
                   {share ? percent_cell(json(100 * *share)) : ""},
                   {memory ? format_bytes_rounded(*memory) : ""},
                   {seconds("/start_s")},
                   {seconds("/load_s")},
                   {seconds("/place_s")},
                   {seconds("/compute_s")},
                   {seconds("/end_s")}});
  }
  return table.render(style);
}

/// The accuracies of each device and type. Batches of other sizes may round otherwise, so a device may have several.
std::string accuracy_lines(const std::vector<const json*>& rows, const text_style& style) {
  std::map<std::string, std::set<std::string>> ways;  // in which a device ran the net
  for (const json* row : rows) ways[text_of(field(*row, "/device"))].insert(text_of(field(*row, "/implementation")));
  std::map<std::string, std::vector<std::string>> of_device;
  for (const json* row : rows) {
    const auto share = number_of(field(*row, "/accuracy/share"));
    const auto images = number_of(field(*row, "/accuracy/images"));
    if (!share || !images || !(*images > 0)) continue;
    const std::string text = fmt::format("{:.2f} % ({} {:.2f}) of {:.0f} images", 100 * *share,
                                         style.unicode ? "±" : "+-", 100 * share_uncertainty(*share, *images), *images);
    const std::string device = text_of(field(*row, "/device"));
    const std::string way = ways[device].size() > 1 ? " " + text_of(field(*row, "/implementation")) : "";
    auto& texts = of_device[fmt::format("{}{} {}", device, way, text_of(field(*row, "/dtype")))];
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  std::string lines;
  for (const auto& [whose, texts] : of_device) {
    std::string line = fmt::format("accuracy, {}: ", whose);
    for (const std::string& text : texts) line += (text == texts.front() ? "" : "; ") + text;
    lines += paragraph(line, style, emphasis::heading);
  }
  return lines;
}

std::string not_measured(const std::vector<const json*>& rows, const text_style& style) {
  std::string lines;
  std::set<std::string> told;  // images from several places may have the same reason
  for (const json* row : rows) {
    const std::string status = text_of(field(*row, "/status"));
    if (status == "ok" || status == "failed") continue;
    const std::string line = fmt::format("{}: {} {}, {} images a call, {}: {}", status, text_of(field(*row, "/op")),
                                         text_of(field(*row, "/dtype")), images_of(*row),
                                         text_of(field(*row, "/device")), text_of(field(*row, "/reason")));
    if (told.insert(line).second) lines += paragraph(line, style);
  }
  return lines;
}

}  // namespace

std::string inference_report(const json& document, const text_style& style) {
  const std::vector<const json*> rows = in_order(document.at("results"));
  if (rows.empty()) return "No results of nets.\n";
  footnotes notes;
  std::string out;
  const auto any = [&](auto holds) { return std::ranges::any_of(rows, [&](const json* it) { return holds(*it); }); };
  for (const std::string& part : {times_table(rows, notes, style), notes.render(style), program_table(rows, style),
                                  not_measured(rows, style), accuracy_lines(rows, style)}) {
    if (!part.empty()) out += part + '\n';
  }
  const auto explain = [&](const std::string& text) { out += paragraph(text, style, emphasis::muted); };
  explain(
      fmt::format("time: median {} half of its 95% interval, of a call for this number of images; n: number of "
                  "samples, if they are few. rate: two flops for each product of a weight and a pixel. % of "
                  "roofline: the time that the ceilings measured here allow, over the time taken. check: whether "
                  "results were within the bounds of rounding of those in higher precision.",
                  style.unicode ? "±" : "+-"));
  if (const std::string note = steady_note(document.at("results")); !note.empty()) explain(note);
  if (any([](const json& it) { return field(it, "/usage").is_object(); })) {
    explain(
        "program: a fresh process for all images, median of its runs. start: until its runtime answers; load: "
        "reading files; place: allocating and filling arrays; compute: images to classes, copies included.");
  }
  return out;
}

}  // namespace prumo::bench
