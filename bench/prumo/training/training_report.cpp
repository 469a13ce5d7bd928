// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/training_report.hpp"

#include "reports/result_cells.hpp"
#include "terminal/footnotes.hpp"
#include "terminal/text_plot.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using align = text_table::align;
using role = text_table::role;

bool is_training(const json& result) {
  return text_of(field(result, "/kind")) == "training" && !result.contains("published");
}

std::string images_cell(const json& result) {
  const auto images = number_of(field(result, "/shape/images"));
  return images ? fmt::format("{:.0f}", *images) : std::string();
}

std::string run_label(const json& result) {
  return fmt::format("{} {} {} batch {}", text_of(field(result, "/device")), text_of(field(result, "/implementation")),
                     text_of(field(result, "/dtype")), images_cell(result));
}

std::string share_cell(const json& share) {
  const auto number = number_of(share);
  return number ? fmt::format("{:.2f} %", 100 * *number) : std::string();
}

std::string figure_cell(const json& value, int digits) {
  const auto number = number_of(value);
  return number ? format_significant(*number, digits) : std::string();
}

std::string image_rate(const json& result) {
  const auto rate = number_of(field(result, "/rates/gelements"));
  return rate ? format_rate(1e9 * *rate, "") : std::string();
}

double total_seconds(const json& result) {
  const json& epochs = field(result, "/epochs");
  return epochs.empty() ? 0 : number_of(epochs.back().at("total_s")).value_or(0);
}

std::string summary_table(const std::vector<const json*>& rows, footnotes& notes, const text_style& style) {
  text_table table({{"device", align::left, role::axis},
                    {"implementation", align::left, role::axis},
                    {"type", align::left, role::axis},
                    {"batch", align::right},
                    {"epochs", align::right},
                    {"an epoch", align::right},
                    {"images/s", align::right},
                    {"joules", align::right},
                    {"total", align::right},
                    {"loss", align::right},
                    {"accuracy", align::right},
                    {"check", align::left}});
  for (const json* row : rows) {
    const json& result = *row;
    const std::string status = text_of(field(result, "/status"));
    if (status != "ok" && status != "failed") continue;
    const json& epochs = field(result, "/epochs");
    const json last = epochs.empty() ? json::object() : epochs.back();
    table.add_heading(text_of(field(result, "/op")));
    table.add_row({{text_of(field(result, "/device"))},
                   {text_of(field(result, "/implementation"))},
                   {text_of(field(result, "/dtype"))},
                   {images_cell(result)},
                   {fmt::format("{}", epochs.size())},
                   {seconds_cell(field(result, "/time_s/median"), style)},
                   {image_rate(result)},
                   {figure_cell(field(result, "/energy_j"), 3)},
                   {epochs.empty() ? std::string() : format_duration(total_seconds(result))},
                   {figure_cell(field(last, "/train_loss"), 3)},
                   {share_cell(field(last, "/test_accuracy"))},
                   check_cell(result, notes)});
  }
  return table.render(style);
}

/// Seconds of training until each accuracy was reached.
std::string time_table(const std::vector<const json*>& rows, const text_style& style) {
  std::set<double> accuracies;
  for (const json* row : rows) {
    for (const json& it : field(*row, "/time_to")) accuracies.insert(it.at("accuracy").get<double>());
  }
  if (accuracies.empty()) return {};
  std::vector<text_table::column> columns{{"seconds of training to", align::left}};
  for (const double it : accuracies) columns.push_back({format_percent(100 * it), align::right});
  text_table table(columns);
  for (const json* row : rows) {
    const json& times = field(*row, "/time_to");
    if (times.empty()) continue;
    std::map<double, std::string> known;
    for (const json& it : times) known[it.at("accuracy").get<double>()] = seconds_cell(it.at("seconds"), style);
    std::vector<text_table::cell> cells{{run_label(*row)}};
    for (const double it : accuracies) cells.push_back({known.contains(it) ? known[it] : std::string("-")});
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string plot(const std::vector<const json*>& rows, const std::string& x_title, const std::string& y_title,
                 double (*x_of)(const json& epoch, double seconds), double (*y_of)(const json& epoch),
                 const text_style& style) {
  std::vector<plot_series> lines;
  for (const json* row : rows) {
    plot_series line{run_label(*row), {}, true};
    double seconds = 0;
    for (const json& it : field(*row, "/epochs")) {
      seconds += number_of(it.at("train_s")).value_or(0);
      line.points.push_back({x_of(it, seconds), y_of(it)});
    }
    if (line.points.size() > 1) lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  plot_frame frame;
  frame.x_title = x_title;
  frame.y_title = y_title;
  frame.height = 12;
  return log_log_plot(lines, frame, style);
}

std::string plots(const std::vector<const json*>& rows, const text_style& style) {
  const std::string wrong = plot(
      rows, "seconds of training", "wrong test images, %", [](const json&, double seconds) { return seconds; },
      [](const json& epoch) { return 100 * (1 - number_of(epoch.at("test_accuracy")).value_or(1)); }, style);
  const std::string loss = plot(
      rows, "epoch", "loss of the training images",
      [](const json& epoch, double) { return number_of(epoch.at("epoch")).value_or(0); },
      [](const json& epoch) { return number_of(epoch.at("train_loss")).value_or(0); }, style);
  return wrong + (wrong.empty() || loss.empty() ? "" : "\n") + loss;
}

std::string not_trained(const std::vector<const json*>& rows, const text_style& style) {
  std::string lines;
  for (const json* row : rows) {
    const std::string status = text_of(field(*row, "/status"));
    if (status == "ok" || status == "failed") continue;
    lines += paragraph(
        fmt::format("{}: {} {}, batch {}, {}: {}", status, text_of(field(*row, "/op")), text_of(field(*row, "/dtype")),
                    images_cell(*row), text_of(field(*row, "/device")), text_of(field(*row, "/reason"))),
        style);
  }
  return lines;
}

}  // namespace

std::string training_report(const json& document, bool with_plots, const text_style& style) {
  std::vector<const json*> rows;
  for (const json& result : document.at("results")) {
    if (is_training(result)) rows.push_back(&result);
  }
  if (rows.empty()) return "No trainings.\n";
  footnotes notes;
  std::string out;
  const std::string table = summary_table(rows, notes, style);
  for (const std::string& part : {table, notes.render(style), time_table(rows, style),
                                  with_plots ? plots(rows, style) : std::string(), not_trained(rows, style)}) {
    if (!part.empty()) out += part + '\n';
  }
  return out + paragraph(
                   "an epoch: median seconds of its steps, without tests of the accuracy. total: all epochs with these "
                   "tests. joules: of an epoch's steps, where the device counts them. accuracy: of the test images. "
                   "check: whether a step was within the bounds of rounding of the same step in higher precision.",
                   style, emphasis::muted);
}

std::string published_trainings(const json& document, const text_style& style) {
  text_table table({{"published", align::left},
                    {"device", align::left},
                    {"batch", align::right},
                    {"epochs", align::right},
                    {"an epoch", align::right},
                    {"total", align::right},
                    {"accuracy", align::right}});
  std::map<std::string, std::string> names;
  for (const json& it : document.at("devices")) names[text_of(it.at("id"))] = text_of(it.at("name"));
  bool any = false;
  for (const json& result : document.at("results")) {
    if (text_of(field(result, "/kind")) != "training") continue;
    const auto total = number_of(field(result, "/published/figures/total_s"));
    const auto epochs = number_of(field(result, "/published/figures/epochs"));
    const auto batch = number_of(field(result, "/published/figures/batch"));
    const std::string id = text_of(result.at("device"));
    table.add_row({{text_of(field(result, "/published/source"))},
                   {names.contains(id) && !names[id].empty() ? names[id] : id},
                   {batch ? fmt::format("{:g}", *batch) : std::string()},
                   {epochs ? fmt::format("{:g}", *epochs) : std::string()},
                   {total && epochs ? seconds_cell(*total / *epochs, style) : std::string()},
                   {total ? format_duration(*total) : std::string()},
                   {share_cell(field(result, "/published/figures/accuracy"))}});
    any = true;
  }
  return any ? table.render(style) : std::string();
}

}  // namespace prumo::bench
