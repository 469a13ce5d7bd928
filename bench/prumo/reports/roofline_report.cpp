// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/roofline_report.hpp"

#include "reports/case_columns.hpp"
#include "reports/result_cells.hpp"
#include "terminal/text_plot.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// The device's id, with its number of threads where others are in the document, too.
std::string title_of(const json& document, const json& device) {
  const auto same = [&](const json& it) { return it.at("id") == device.at("id"); };
  const json& devices = document.at("devices");
  std::string id = text_of(device.at("id"));
  if (std::count_if(devices.begin(), devices.end(), same) < 2) return id;
  return fmt::format("{} ({})", id,
                     format_threads(static_cast<std::int64_t>(number_of(field(device, "/threads")).value_or(0))));
}

std::string heading(const json& document, const json& device, const text_style& style) {
  const std::string name = text_of(field(device, "/name"));
  const std::string title = fmt::format("{}  {}", title_of(document, device), name.empty() ? "n/a" : name);
  return emphasize(fit(sanitize(title), static_cast<std::size_t>(style.width), style.unicode), emphasis::heading,
                   style) +
         '\n';
}

std::string roofs_table(const std::vector<roofline>& roofs, const text_style& style) {
  using align = text_table::align;
  using role = text_table::role;
  text_table table({{"memory", align::left, role::axis},
                    {"size", align::right, role::axis},
                    {"cache", align::left, role::axis},
                    {"B/s", align::right},
                    {"type", align::left, role::axis},
                    {"arithmetic", align::left, role::axis},
                    {"FLOP/s", align::right},
                    {"ridge", align::right}},
                   text_table::below_heading);
  for (const roofline& it : roofs) {
    table.add_row({{it.memory_probe},
                   {it.bytes_per_array ? format_bytes(static_cast<std::uint64_t>(*it.bytes_per_array)) : ""},
                   {it.cache},
                   {format_rate(it.memory, "B/s")},
                   {it.dtype},
                   {it.compute_from},
                   {format_rate(it.compute, "FLOP/s")},
                   {format_significant(it.ridge(), 3) + " FLOP/B"}});
  }
  return table.render(style);
}

/// A ceiling and what reached it; empty if the document has none for the result.
std::string ceiling_cell(const std::string& probe, const json& value, std::string_view unit) {
  return value.is_number() ? fmt::format("{} {}", probe, format_rate(value.get<double>(), unit)) : std::string();
}

/// A row for each result, with the ceilings and the share that the document has for it: nothing is computed anew, so
/// the shares are those that `prumo bench` printed.
std::string points_table(const std::vector<roofline_point>& points, const text_style& style) {
  using align = text_table::align;
  std::vector<const json*> results;
  std::map<const json*, const roofline_point*> point_of;
  for (const roofline_point& it : points) {
    results.push_back(it.result);
    point_of[it.result] = &it;
  }
  const case_columns cases(results, {"device", "threads"});
  std::vector<text_table::column> columns;
  cases.add_columns(columns);
  const std::vector<text_table::column> figures = {{"intensity", align::right}, {"rate", align::right},
                                                   {"memory", align::left},     {"arithmetic", align::left},
                                                   {"bound", align::left},      {"% of roofline", align::right}};
  columns.insert(columns.end(), figures.begin(), figures.end());
  text_table table(std::move(columns), text_table::below_heading);
  for (const json* result : in_table_order(results)) {
    const roofline_point& point = *point_of.at(result);
    table.add_heading(cases.heading(*result));
    std::vector<text_table::cell> cells;
    cases.add_cells(*result, cells);
    cells.push_back({point.can_be_drawn() ? format_significant(point.intensity, 3) + " FLOP/B" : std::string()});
    cells.push_back({point.can_be_drawn() ? format_rate(point.rate, "FLOP/s") : rate_cell(*result)});
    cells.push_back(
        {ceiling_cell(text_of(field(*result, "/roof/memory_probe")), field(*result, "/roof/memory"), "B/s")});
    cells.push_back({ceiling_cell(compute_probe_of(*result), field(*result, "/roof/compute"), "FLOP/s")});
    cells.push_back({bound_cell(*result)});
    const json& share = field(*result, "/percent/roofline");
    cells.push_back({share.is_number() ? percent_cell(share) : "n/a"});
    table.add_row(std::move(cells));
  }
  return points.empty() ? std::string() : table.render(style);
}

std::string rate_text(double value) { return format_rate(value, "F/s"); }
std::string intensity_text(double value) { return format_significant(value, 2); }

/// What a plot shows. Points of other types, cache states or sizes have other roofs and are in other plots.
struct plot_subject {
  std::string dtype;
  std::string cache;            ///< empty: of no result, so all roofs of the device are drawn
  std::optional<double> bytes;  ///< of an array

  friend auto operator<=>(const plot_subject&, const plot_subject&) = default;
};

plot_subject subject_of(const roofline_point& point) {
  return {text_of(field(*point.result, "/dtype")), text_of(field(*point.result, "/cache")),
          number_of(field(*point.result, "/bytes_per_array"))};
}

/// `gemm fast_tf32 cublas 81 %`: the point's own share stands in the legend.
std::string point_label(const json& result) {
  std::string label = text_of(field(result, "/op"));
  const std::string mode = text_of(field(result, "/compute_mode"));
  if (mode != "strict" && !mode.empty()) label += ' ' + mode;
  const std::string implementation = text_of(field(result, "/implementation"));
  if (implementation != "kernel" && !implementation.empty()) label += ' ' + implementation;
  const auto share = number_of(field(result, "/percent/roofline"));
  return label + ' ' + (share ? format_percent(*share) : "n/a");
}

/// The roofs of points, each pair of ceilings once. Groups of cases measure their ceilings anew, so the values of a
/// pair differ a little from point to point. The highest is drawn.
std::vector<roofline> roofs_of(const std::vector<const roofline_point*>& points) {
  std::vector<roofline> roofs;
  for (const roofline_point* point : points) {
    if (!point->roof) continue;
    const auto known = std::ranges::find_if(roofs, [&](const roofline& it) {
      return it.memory_probe == point->roof->memory_probe && it.compute_from == point->roof->compute_from;
    });
    if (known == roofs.end()) {
      roofs.push_back(*point->roof);
    } else {
      known->memory = std::max(known->memory, point->roof->memory);
      known->compute = std::max(known->compute, point->roof->compute);
    }
  }
  return roofs;
}

std::string plot_of(const std::string& device, const plot_subject& subject, const std::vector<roofline>& roofs,
                    const std::vector<const roofline_point*>& points, const text_style& style) {
  double low = 0.05;
  double high = 50;
  for (const roofline& it : roofs) high = std::max(high, 4 * it.ridge());
  for (const roofline_point* it : points) {
    low = std::min(low, it->intensity / 2);
    high = std::max(high, 2 * it->intensity);
  }
  std::vector<plot_series> series;
  for (const roofline& it : roofs) {
    series.push_back({fmt::format("{}, ridge {}", it.label(), format_significant(it.ridge(), 3)),
                      {{low, it.at(low)}, {it.ridge(), it.compute}, {high, it.compute}},
                      true});
  }
  for (const roofline_point* it : points) {
    series.push_back({point_label(*it->result), {{it->intensity, it->rate}}, false});
  }
  plot_frame frame;
  frame.x_title = "flops per byte";
  frame.y_title = fmt::format("{} {}", device, subject.dtype);
  if (!subject.cache.empty()) frame.y_title += ", " + subject.cache;
  if (subject.bytes) frame.y_title += ", " + format_bytes(static_cast<std::uint64_t>(*subject.bytes));
  frame.x_text = intensity_text;
  frame.y_text = rate_text;
  return log_log_plot(series, frame, style);
}

/// The roofs of a type that its device's own probes and peaks make, of which there are no points.
std::vector<roofline> main_roofs(const std::vector<roofline>& roofs, const std::string& dtype) {
  std::vector<roofline> found;
  for (const char* cache : {"cold", "hot", ""}) {
    if (const roofline* roof = main_roof(roofs, dtype, cache); roof != nullptr) found.push_back(*roof);
  }
  return found;
}

}  // namespace

std::string roofline_table(const json& document, const std::vector<std::string>& dtypes, const text_style& style) {
  std::string out;
  for (const json& device : document.at("devices")) {
    const std::vector<roofline> roofs = rooflines_of(device, dtypes);
    const std::vector<roofline_point> points = points_of(document, device, dtypes);
    const bool has_own = std::ranges::any_of(
        points, [](const roofline_point& it) { return field(*it.result, "/percent/roofline").is_number(); });
    out += (out.empty() ? "" : "\n") + heading(document, device, style);
    if (roofs.empty() && !has_own) {
      out += "  Neither ceilings nor peaks are known. Measure them with `prumo bench`, without --no-probe.\n";
    }
    if (!roofs.empty()) out += roofs_table(roofs, style);
    if (!roofs.empty() && !points.empty()) out += '\n';
    out += points_table(points, style);
  }
  return out.empty() ? "No devices.\n" : out;
}

std::string roofline_plots(const json& document, const std::vector<std::string>& dtypes, const text_style& style) {
  std::string out;
  for (const json& device : document.at("devices")) {
    const std::string id = title_of(document, device);
    const std::vector<roofline> roofs = rooflines_of(device, dtypes);
    const std::vector<roofline_point> points = points_of(document, device, dtypes);
    std::map<plot_subject, std::vector<const roofline_point*>> subjects;
    std::set<std::string> drawn;
    for (const roofline_point& it : points) {
      if (!it.can_be_drawn()) continue;
      subjects[subject_of(it)].push_back(&it);
      drawn.insert(subject_of(it).dtype);
    }
    // Types of which only a theoretical peak is known are not drawn unless they are asked for.
    for (const roofline& it : roofs) {
      if ((!it.cache.empty() || !dtypes.empty()) && !drawn.contains(it.dtype)) subjects[{it.dtype, "", {}}];
    }
    for (const auto& [subject, own] : subjects) {
      std::vector<roofline> shown = own.empty() ? main_roofs(roofs, subject.dtype) : roofs_of(own);
      if (const roofline* peak = main_roof(roofs, subject.dtype, ""); peak != nullptr && !own.empty()) {
        shown.push_back(*peak);
      }
      out += '\n' + plot_of(id, subject, shown, own, style);
    }
  }
  return out;
}

}  // namespace prumo::bench
