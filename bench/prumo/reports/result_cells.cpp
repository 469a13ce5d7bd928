// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/result_cells.hpp"

#include "terminal/plural.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

namespace prumo::bench {

using nlohmann::json;

namespace {

/// `±0.4%`: half of an interval over the value in it.
std::string half_width(double low, double high, double value, const text_style& style) {
  return fmt::format("{}{:.1f}%", style.unicode ? "±" : "+-", 50 * (high - low) / value);
}

}  // namespace

std::string size_cell(const json& result) {
  const json& bytes = field(result, "/bytes_per_array");
  return bytes.is_number_integer() && bytes >= 0 ? format_bytes(bytes.get<std::uint64_t>()) : std::string();
}

std::string shape_cell(const json& result) {
  const json& shape = field(result, "/shape");
  if (!shape.is_object() || shape.empty()) return {};
  if (shape.size() == 1 && !size_cell(result).empty()) return {};
  std::set<std::string> extents;
  std::string names;
  for (const auto& [name, extent] : shape.items()) {
    extents.insert(extent.dump());
    names += name + '=';
  }
  return extents.size() == 1 ? names + *extents.begin() : named_values(shape);
}

std::string data_cell(const json& result) {
  const std::string memory = text_of(field(result, "/host_memory"));
  return memory.empty() ? text_of(field(result, "/data")) : memory;
}

std::string rate_cell(const json& result) {
  const auto gflops = number_of(field(result, "/rates/gflops"));
  const auto gbytes = number_of(field(result, "/rates/gbytes"));
  const auto gelements = number_of(field(result, "/rates/gelements"));
  std::string bound = text_of(field(result, "/bound"));
  const double flops = number_of(field(result, "/flops/model")).value_or(0);
  const double bytes = number_of(field(result, "/bytes")).value_or(0);
  constexpr double many_flops_a_byte = 10;  // beyond what any memory system feeds
  const bool arithmetic = is_bound_by_flops(result) || (bound != "memory" && flops > many_flops_a_byte * bytes);
  if (gflops && (arithmetic || !gbytes)) return format_rate(*gflops * 1e9, "FLOP/s");
  if (gbytes) return format_rate(*gbytes * 1e9, "B/s");
  return gelements ? format_rate(*gelements * 1e9, " elem/s") : std::string();
}

std::string spread_cell(const json& result, const text_style& style) {
  const auto median = number_of(field(result, "/time_s/median"));
  if (!median || !(*median > 0)) return {};
  const auto low = number_of(field(result, "/time_s/interval/low"));
  const auto high = number_of(field(result, "/time_s/interval/high"));
  constexpr double few_samples = 10;
  const double all = static_cast<double>(field(result, "/time_s/samples").size());
  const double count = number_of(field(result, "/time_s/samples_measured")).value_or(all);
  std::string cell;
  if (low && high) cell = half_width(*low, *high, *median, style);
  if (cell.empty() || count < few_samples) cell += fmt::format("{}n={:.0f}", cell.empty() ? "" : " ", count);
  return cell;
}

std::string share_spread_cell(const json& result, const text_style& style) {
  const auto share = number_of(field(result, "/percent/roofline"));
  const auto low = number_of(field(result, "/percent/roofline_interval/low"));
  const auto high = number_of(field(result, "/percent/roofline_interval/high"));
  if (!share || !(*share > 0) || !low || !high) return {};
  return half_width(*low, *high, *share, style);
}

std::string steady_note(const json& results) {
  const auto count =
      std::ranges::count_if(results, [](const json& it) { return text_of(field(it, "/time_s/stop")) == "steady"; });
  if (count == 0) return {};
  return fmt::format(
      "{} stopped early: the noise no longer changed, and the time left was too short for --target-noise.",
      plural(static_cast<std::size_t>(count), "case", "cases"));
}

std::string bound_cell(const json& result) {
  std::string bound = text_of(field(result, "/bound"));
  const std::string from = text_of(field(result, "/roof/compute_from"));
  if (bound != "compute" || is_bound_by_flops(result)) return bound;
  return fmt::format("{}: {}", bound, from.substr(0, from.find("_rate")));
}

bool is_bound_by_flops(const json& result) {
  return text_of(field(result, "/bound")) == "compute" &&
         !text_of(field(result, "/roof/compute_from")).ends_with("_rate");
}

std::string seconds_cell(const json& value, const text_style& style) {
  const auto seconds = number_of(value);
  return seconds ? with_micro(format_seconds(*seconds), style) : std::string();
}

std::string percent_cell(const json& value) {
  const auto percent = number_of(value);
  if (!percent) return {};
  std::string shown = format_percent(*percent);
  shown.erase(std::remove(shown.begin(), shown.end(), ' '), shown.end());
  return shown;
}

std::string beyond_launch_cell(const json& result, const text_style& style) {
  const auto whole = number_of(field(result, "/time_s/median"));
  const auto launch = number_of(field(result, "/roof/launch_s"));
  if (text_of(field(result, "/dispatch")) != "single" || !whole || !launch) return {};
  return seconds_cell(json(std::max(0.0, *whole - *launch)), style);
}

std::string kernel_cell(const json& result, const text_style& style) {
  const auto whole = number_of(field(result, "/time_s/median"));
  const auto in = number_of(field(result, "/transfer/h2d_s"));
  const auto out = number_of(field(result, "/transfer/d2h_s"));
  if (!whole || !(in || out)) return {};
  const double kernel = *whole - in.value_or(0) - out.value_or(0);
  return kernel > 0 ? seconds_cell(json(kernel), style) : std::string();
}

text_table::cell check_cell(const json& result, footnotes& notes) {
  const json& verified = field(result, "/verified");
  text_table::cell cell;
  if (verified == true) cell = {"ok", emphasis::good};
  if (verified == false) cell = {"WRONG", emphasis::bad};
  if (text_of(field(result, "/status")) == "failed") {
    if (cell.text.empty()) cell = {"failed", emphasis::bad};
    cell.text += ' ' + notes.add(text_of(field(result, "/reason")));
    cell.how = emphasis::bad;
  }
  for (const json& warning : field(result, "/warnings")) {
    cell.text += (cell.text.empty() ? "" : " ") + notes.add(text_of(warning));
    cell.how = emphasis::bad;
  }
  return cell;
}

}  // namespace prumo::bench
