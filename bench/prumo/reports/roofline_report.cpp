// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/roofline_report.hpp"

#include "results/result_fields.hpp"
#include "terminal/text_plot.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

constexpr std::size_t indent = 2;  // of tables below a device

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
                   indent);
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

/// The fastest of each operation and type, in the order of their first appearance.
std::vector<roofline_point> best_points(const std::vector<roofline_point>& points) {
  std::vector<roofline_point> best;
  for (const roofline_point& it : points) {
    const auto known = std::ranges::find_if(
        best, [&](const roofline_point& other) { return other.op == it.op && other.dtype == it.dtype; });
    if (known == best.end()) {
      best.push_back(it);
    } else if (it.rate > known->rate) {
      *known = it;
    }
  }
  return best;
}

std::string points_table(const std::vector<roofline_point>& points, const std::vector<roofline>& roofs,
                         const text_style& style) {
  using align = text_table::align;
  text_table table({{"fastest of", align::left},
                    {"type", align::left, text_table::role::axis},
                    {"intensity", align::right},
                    {"rate", align::right},
                    {"% of roofline", align::right}},
                   indent);
  for (const roofline_point& it : best_points(points)) {
    const roofline* roof = main_roof(roofs, it.dtype, "cold");
    if (roof == nullptr) roof = main_roof(roofs, it.dtype, "hot");
    table.add_row({{it.op},
                   {it.dtype},
                   {format_significant(it.intensity, 3) + " FLOP/B"},
                   {format_rate(it.rate, "FLOP/s")},
                   {roof == nullptr ? "n/a" : format_percent(100 * it.rate / roof->at(it.intensity))}});
  }
  return points.empty() ? std::string() : table.render(style);
}

std::vector<roofline_point> wanted_points(const json& document, const json& device,
                                          const std::vector<std::string>& dtypes) {
  std::vector<roofline_point> points = points_of(document, device);
  std::erase_if(points, [&](const roofline_point& it) {
    return !dtypes.empty() && std::ranges::find(dtypes, it.dtype) == dtypes.end();
  });
  return points;
}

std::string rate_text(double value) { return format_rate(value, "F/s"); }
std::string intensity_text(double value) { return format_significant(value, 2); }

/// Roofs of one type and the points below them.
std::string plot_of(const std::string& device, const std::string& dtype, const std::vector<roofline>& roofs,
                    const std::vector<roofline_point>& points, const text_style& style) {
  double low = 0.05;
  double high = 50;
  for (const roofline& it : roofs) high = std::max(high, it.dtype == dtype ? 4 * it.ridge() : 0);
  for (const roofline_point& it : points) {
    if (it.dtype != dtype) continue;
    low = std::min(low, it.intensity / 2);
    high = std::max(high, 2 * it.intensity);
  }
  std::vector<plot_series> series;
  const auto add_roof = [&](const roofline* roof) {
    if (roof == nullptr) return;
    series.push_back({fmt::format("{}, ridge {}", roof->label(), format_significant(roof->ridge(), 3)),
                      {{low, roof->at(low)}, {roof->ridge(), roof->compute}, {high, roof->compute}},
                      true});
  };
  for (const char* cache : {"cold", "hot", ""}) add_roof(main_roof(roofs, dtype, cache));
  std::map<std::string, plot_series> operations;
  for (const roofline_point& it : points) {
    if (it.dtype != dtype) continue;
    plot_series& of_op = operations[it.op];
    of_op.label = it.op;
    of_op.joined = false;
    of_op.points.push_back({it.intensity, it.rate});
  }
  for (auto& [op, of_op] : operations) series.push_back(std::move(of_op));
  plot_frame frame;
  frame.x_title = "flops per byte";
  frame.y_title = fmt::format("{} {}", device, dtype);
  frame.x_text = intensity_text;
  frame.y_text = rate_text;
  return log_log_plot(series, frame, style);
}

}  // namespace

std::string roofline_table(const json& document, const std::vector<std::string>& dtypes, const text_style& style) {
  std::string out;
  for (const json& device : document.at("devices")) {
    const std::vector<roofline> roofs = rooflines_of(device, dtypes);
    out += (out.empty() ? "" : "\n") + heading(document, device, style);
    if (roofs.empty()) {
      out += "  Neither ceilings nor peaks are known. Measure them with `prumo bench`, without --no-probe.\n";
      continue;
    }
    out += roofs_table(roofs, style);
    out += points_table(wanted_points(document, device, dtypes), roofs, style);
  }
  return out.empty() ? "No devices.\n" : out;
}

std::string roofline_plots(const json& document, const std::vector<std::string>& dtypes, const text_style& style) {
  std::string out;
  for (const json& device : document.at("devices")) {
    const std::string id = title_of(document, device);
    const std::vector<roofline> roofs = rooflines_of(device, dtypes);
    const std::vector<roofline_point> points = wanted_points(document, device, dtypes);
    std::vector<std::string> types;
    const auto add_type = [&](const std::string& dtype) {
      if (std::ranges::find(types, dtype) == types.end()) types.push_back(dtype);
    };
    // Types of which only a theoretical peak is known are not drawn unless they are asked for.
    for (const roofline& it : roofs) {
      if (!it.cache.empty() || !dtypes.empty()) add_type(it.dtype);
    }
    for (const roofline_point& it : points) add_type(it.dtype);
    for (const std::string& dtype : types) out += '\n' + plot_of(id, dtype, roofs, points, style);
  }
  return out;
}

}  // namespace prumo::bench
