// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "crossover/crossover_report.hpp"

#include "reports/result_cells.hpp"
#include "terminal/text_plot.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

const crossover_series* first_host(const crossover_curves& curves) {
  const auto found = std::ranges::find(curves.series, false, &crossover_series::own_memory);
  return found == curves.series.end() ? nullptr : &*found;
}

std::string sizes_table(const crossover_workload& workload, const crossover_curves& curves, const text_style& style) {
  using align = text_table::align;
  const crossover_series* host = first_host(curves);
  std::vector<text_table::column> columns = {{"size", align::right}};
  std::set<double> sizes;
  for (const crossover_series& it : curves.series) {
    columns.push_back({it.label(), align::right});
    if (it.own_memory && host != nullptr)
      columns.push_back({"/ " + host->label(), align::right, text_table::role::detail});
    for (const auto& [size, seconds] : it.seconds) sizes.insert(size);
  }
  text_table table(std::move(columns));
  for (const double size : sizes) {
    std::vector<text_table::cell> cells = {{workload.text(size)}};
    for (const crossover_series& it : curves.series) {
      const auto found = it.seconds.find(size);
      cells.push_back({found == it.seconds.end() ? "-" : seconds_cell(found->second, style)});
      if (!it.own_memory || host == nullptr) continue;
      const auto beside = host->seconds.find(size);
      if (found == it.seconds.end() || beside == host->seconds.end()) {
        cells.push_back({""});
        continue;
      }
      const double ratio = found->second / beside->second;
      cells.push_back({format_significant(ratio, 3), ratio <= 1 ? emphasis::good : emphasis::none});
    }
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string axis_number(double value) { return fmt::format("{:.0f}", value); }

}  // namespace

std::string crossover_table(const crossover_workload& workload, const crossover_curves& curves,
                            const text_style& style) {
  std::string out = paragraph(workload.title, style, emphasis::heading);
  out += paragraph(workload.dispatch == "single"
                       ? "calls: the host launches each by itself (--dispatch single), as a program does"
                       : "calls: short ones of a GPU are recorded once and replayed (--dispatch recorded), which hides "
                         "the cost of launching them. A program that records nothing breaks even at a larger size, "
                         "which --dispatch single finds",
                   style, workload.dispatch == "single" ? emphasis::muted : emphasis::bad);
  out += sizes_table(workload, curves, style) + '\n';
  std::size_t challengers = 0;
  for (const crossover_series& challenger : curves.series) {
    if (!challenger.own_memory) continue;
    for (const crossover_series& host : curves.series) {
      if (host.own_memory) continue;
      ++challengers;
      out += paragraph(describe_crossings(crossover_curves::ratios(challenger, host), challenger.label(), host.label(),
                                          workload.text),
                       style, emphasis::heading);
    }
  }
  if (challengers == 0) {
    const bool hosts = first_host(curves) != nullptr;
    out += paragraph(
        hosts ? "There is no crossover to find: no device here has its own memory. The table shows the host alone."
              : "There is no crossover to find: no host device was measured.",
        style);
  }
  for (const std::string& note : curves.notes) out += paragraph("left out: " + note, style, emphasis::muted);
  return out;
}

std::string crossover_plot(const crossover_workload& workload, const crossover_curves& curves,
                           const text_style& style) {
  std::vector<plot_series> lines;
  for (const crossover_series& it : curves.series) {
    plot_series line{it.label(), {}, true};
    for (const auto& [size, seconds] : it.seconds) line.points.push_back({size, seconds});
    lines.push_back(std::move(line));
  }
  plot_frame frame;
  frame.x_title = workload.axis;
  frame.y_title = "time of a call";
  const bool bytes = workload.axis.starts_with("bytes");
  frame.x_text = bytes ? format_bytes_rounded : axis_number;
  frame.y_text = format_seconds;
  return log_log_plot(lines, frame, style);
}

std::string published_times_table(const json& published, const crossover_curves& curves, const text_style& style) {
  using align = text_table::align;
  text_table table({{"size", align::right},
                    {"device", align::left},
                    {"100 calls", align::right},
                    {"a call", align::right},
                    {"", align::left}});
  std::string source;
  std::string lacks;
  const json& results = published.at("results");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const json& result = results[i];
    const auto rows_of = [](const json& it) { return it.at("shape").at("m").get<double>(); };
    const double m = rows_of(result);
    const std::string size = fmt::format("{:.0f} x {}", m, result.at("shape").at("k").dump());
    const auto add_row = [&](const std::string& device, double seconds, const char* whose) {
      table.add_row({{size}, {device}, {seconds_cell(100 * seconds, style)}, {seconds_cell(seconds, style)}, {whose}});
    };
    add_row(text_of(result.at("device")), result.at("time_s").at("median").get<double>(), "published");
    source = text_of(field(result, "/published/source"));
    lacks.clear();
    for (const json& it : field(result, "/published/lacks")) lacks += (lacks.empty() ? "" : "; ") + text_of(it);
    if (i + 1 < results.size() && rows_of(results[i + 1]) == m) continue;
    for (const crossover_series& it : curves.series) {
      const auto here = it.seconds.find(m);
      if (here != it.seconds.end()) add_row(it.label(), here->second, "measured here");
    }
  }
  return table.render(style) +
         paragraph("published: " + source + ". The source lacks: " + lacks, style, emphasis::muted);
}

}  // namespace prumo::bench
