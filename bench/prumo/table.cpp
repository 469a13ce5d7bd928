// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "units.hpp"

namespace prumo::bench {
namespace {

using nlohmann::json;

/// A field by path, null where it is absent.
const json& at(const json& value, const char* pointer) {
  static const json null;
  const json::json_pointer path(pointer);
  return value.contains(path) ? value.at(path) : null;
}

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

std::optional<double> number(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string size_of(const json& result) {
  const json& bytes = at(result, "/bytes_per_array");
  return bytes.is_number_unsigned() ? format_bytes(bytes.get<std::uint64_t>()) : std::string();
}

/// `m=512 n=64`, `k=m=n=724` where all are equal, nothing for a single axis: the size says it.
std::string shape_of(const json& result) {
  const json& shape = at(result, "/shape");
  if (!shape.is_object() || shape.size() < 2) return {};
  std::set<std::string> extents;
  std::string names;
  std::string pairs;
  for (const auto& [name, extent] : shape.items()) {
    extents.insert(extent.dump());
    names += name + '=';
    pairs += fmt::format("{}{}={}", pairs.empty() ? "" : " ", name, extent.dump());
  }
  return extents.size() == 1 ? names + *extents.begin() : pairs;
}

std::string mode_of(const json& result) {
  const std::string memory = text(at(result, "/host_memory"));
  return text(at(result, "/data")) + (memory.empty() ? "" : " " + memory);
}

/// What distinguishes rows; each is a column only where rows differ in it.
struct mode_column {
  const char* title;
  std::string (*read)(const json& result);
};

constexpr std::array<mode_column, 7> mode_columns = {{
    {"device", [](const json& result) { return text(at(result, "/device")); }},
    {"type", [](const json& result) { return text(at(result, "/dtype")); }},
    {"layout", [](const json& result) { return text(at(result, "/layout")); }},
    {"mode", [](const json& result) { return text(at(result, "/compute_mode")); }},
    {"data", mode_of},
    {"cache", [](const json& result) { return text(at(result, "/cache")); }},
    {"by", [](const json& result) { return text(at(result, "/implementation")); }},
}};

/// The parameters of an operation that differ between its rows.
std::map<std::string, std::set<std::string>> varied_parameters(const json& results) {
  std::map<std::string, std::map<std::string, std::set<std::string>>> values;
  for (const json& result : results) {
    const json& parameters = at(result, "/parameters");
    if (!parameters.is_object()) continue;
    for (const auto& [name, value] : parameters.items()) values[text(at(result, "/op"))][name].insert(value.dump());
  }
  std::map<std::string, std::set<std::string>> varied;
  for (const auto& [op, names] : values) {
    for (const auto& [name, seen] : names) {
      if (seen.size() > 1) varied[op].insert(name);
    }
  }
  return varied;
}

/// Notes below the table; rows that share one share its number.
class footnotes {
 public:
  std::string add(const std::string& note) {
    auto place = std::find_if(notes_.begin(), notes_.end(), [&](const entry& known) { return known.text == note; });
    if (place == notes_.end()) place = notes_.insert(notes_.end(), entry{note, 0});
    ++place->rows;
    return fmt::format("[{}]", place - notes_.begin() + 1);
  }

  [[nodiscard]] std::string render(const text_style& style) const {
    text_table table({{"", text_table::align::right}, {""}});
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      const std::string rows = notes_[i].rows > 1 ? fmt::format(" ({} rows)", notes_[i].rows) : "";
      table.add_row({{fmt::format("[{}]", i + 1), emphasis::muted}, {notes_[i].text + rows}});
    }
    return table.render(style);
  }

 private:
  struct entry {
    std::string text;
    std::size_t rows;
  };
  std::vector<entry> notes_;
};

/// Where arithmetic is what counts the rate is in flops, else in bytes, else in elements.
std::string rate_of(const json& result) {
  const auto gflops = number(at(result, "/rates/gflops"));
  const auto gbytes = number(at(result, "/rates/gbytes"));
  const auto gelements = number(at(result, "/rates/gelements"));
  const std::string bound = text(at(result, "/bound"));
  const double flops = number(at(result, "/flops/model")).value_or(0);
  const double bytes = number(at(result, "/bytes")).value_or(0);
  constexpr double many_flops_a_byte = 10;  // beyond what any memory system feeds
  const bool arithmetic = bound == "compute" || (bound != "memory" && flops > many_flops_a_byte * bytes);
  if (gflops && (arithmetic || !gbytes)) return format_rate(*gflops * 1e9, "FLOP/s");
  if (gbytes) return format_rate(*gbytes * 1e9, "B/s");
  return gelements ? format_rate(*gelements * 1e9, " elem/s") : std::string();
}

/// Half the inter-quartile range relative to the median.
std::string spread_of(const json& result, const text_style& style) {
  const auto median = number(at(result, "/time_s/median"));
  const auto p25 = number(at(result, "/time_s/p25"));
  const auto p75 = number(at(result, "/time_s/p75"));
  if (!median || !p25 || !p75 || !(*median > 0)) return {};
  const std::string sign = style.unicode ? "± " : "+- ";
  const json& samples = at(result, "/time_s/samples");
  if (samples.size() < 2) return sign + "?";
  return sign + fmt::format("{:.1f} %", 50 * (*p75 - *p25) / *median);
}

std::string seconds_or_empty(const json& value, const text_style& style) {
  const auto seconds = number(value);
  if (!seconds) return {};
  std::string shown = format_seconds(*seconds);
  if (const auto micro = shown.find("µ"); micro != std::string::npos && !style.unicode) shown.replace(micro, 2, "u");
  return shown;
}

std::string percent_or_empty(const json& value) {
  const auto percent = number(value);
  return percent ? format_percent(*percent) : std::string();
}

text_table::cell check_of(const json& result, const text_style& style) {
  if (text(at(result, "/status")) != "ok" && !at(result, "/verified").is_boolean()) return {};
  const json& verified = at(result, "/verified");
  if (!verified.is_boolean()) return {"-", emphasis::muted};
  if (verified.get<bool>()) return {style.unicode ? "✓" : "yes", emphasis::good};
  return {style.unicode ? "✗ WRONG" : "WRONG", emphasis::bad};
}

text_table::cell note_of(const json& result, footnotes& notes) {
  text_table::cell cell;
  const std::string status = text(at(result, "/status"));
  if (status != "ok") {
    const std::string reason = text(at(result, "/reason"));
    cell.text = status + " " + notes.add(fmt::format("{}: {}", status, reason.empty() ? "no reason given" : reason));
    cell.how = status == "failed" ? emphasis::bad : emphasis::muted;
  }
  for (const json& warning : at(result, "/warnings")) {
    if (!cell.text.empty()) cell.text += ' ';
    cell.text += notes.add(text(warning));
    if (cell.how == emphasis::none) cell.how = emphasis::bad;
  }
  return cell;
}

/// Pointers to the results: operations in the order of their first appearance, sizes ascending within.
std::vector<const json*> in_order(const json& results) {
  std::map<std::string, std::size_t> first;
  std::vector<const json*> rows;
  for (const json& result : results) {
    first.emplace(text(at(result, "/op")), first.size());
    rows.push_back(&result);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const json* a, const json* b) {
    const auto rank = [&](const json& result) {
      return std::pair(first.at(text(at(result, "/op"))), number(at(result, "/bytes_per_array")).value_or(0));
    };
    return rank(*a) < rank(*b);
  });
  return rows;
}

std::string summary_line(const json& results) {
  std::map<std::string, std::size_t> count;
  std::size_t verified = 0;
  std::size_t wrong = 0;
  for (const json& result : results) {
    ++count[text(at(result, "/status"))];
    const json& checked = at(result, "/verified");
    verified += checked == true ? 1 : 0;
    wrong += checked == false ? 1 : 0;
  }
  std::string line = fmt::format("{} ok ({} verified", count["ok"], verified);
  line += wrong > 0 ? fmt::format(", {} WRONG)", wrong) : ")";
  for (const char* status : {"skipped", "unsupported", "failed"}) {
    if (count[status] > 0) line += fmt::format(", {} {}", count[status], status);
  }
  return line;
}

std::string wrapped(const std::string& line, const text_style& style, emphasis how = emphasis::none) {
  text_table table({{""}});
  table.add_row({{line, how}});
  return table.render(style);
}

std::string device_lines(const json& devices, const text_style& style) {
  std::string lines;
  for (const json& device : devices) {
    const std::string name = text(at(device, "/name"));
    std::string line = fmt::format("{}: {}", text(at(device, "/id")), name.empty() ? "n/a" : name);
    if (const auto threads = number(at(device, "/threads")); threads && *threads > 0) {
      line += fmt::format(", {:.0f} {}", *threads, *threads > 1 ? "threads" : "thread");
    }
    lines += wrapped(line, style);
  }
  return lines;
}

}  // namespace

std::string bench_table(const json& document, const text_style& style) {
  const json& results = document.at("results");
  std::string out = device_lines(document.at("devices"), style);
  if (results.empty()) return out + "No results.\n";

  // A property that all rows share is said once above the table instead of in every row.
  std::vector<std::size_t> shown;
  std::string common;
  for (std::size_t i = 0; i < mode_columns.size(); ++i) {
    std::set<std::string> values;
    for (const json& result : results) values.insert(mode_columns[i].read(result));
    values.erase("");
    if (values.size() > 1) shown.push_back(i);
    if (values.size() == 1) common += (common.empty() ? "all rows: " : ", ") + *values.begin();
  }
  if (!common.empty()) out += wrapped(common, style, emphasis::muted);
  out += '\n';

  using align = text_table::align;
  std::vector<text_table::column> columns = {{"size", align::right}, {"shape", align::left}};
  for (const std::size_t i : shown) columns.push_back({mode_columns[i].title, align::left});
  for (const auto& column : std::vector<text_table::column>{{"parameters", align::left},
                                                            {"time", align::right},
                                                            {"spread", align::left},
                                                            {"rate", align::right},
                                                            {"of roof", align::right},
                                                            {"bound", align::left},
                                                            {"of peak", align::right},
                                                            {"to device", align::right},
                                                            {"back", align::right},
                                                            {"check", align::left},
                                                            {"note", align::left}}) {
    columns.push_back(column);
  }

  const auto varied = varied_parameters(results);
  footnotes notes;
  text_table table(std::move(columns));
  std::string op;
  bool first = true;
  for (const json* row : in_order(results)) {
    const json& result = *row;
    if (first || text(at(result, "/op")) != op) {
      op = text(at(result, "/op"));
      table.add_heading(op);
      first = false;
    }
    std::vector<text_table::cell> cells = {{size_of(result)}, {shape_of(result)}};
    for (const std::size_t i : shown) cells.push_back({mode_columns[i].read(result)});
    std::string parameters;
    if (const auto names = varied.find(op); names != varied.end()) {
      for (const std::string& name : names->second) {
        const json& values = at(result, "/parameters");
        if (!values.contains(name)) continue;
        parameters += fmt::format("{}{}={}", parameters.empty() ? "" : " ", name, values.at(name).dump());
      }
    }
    cells.push_back({parameters});
    cells.push_back({seconds_or_empty(at(result, "/time_s/median"), style)});
    cells.push_back({spread_of(result, style)});
    cells.push_back({rate_of(result)});
    cells.push_back({percent_or_empty(at(result, "/percent/roofline"))});
    const std::string bound = text(at(result, "/bound"));
    cells.push_back({bound});
    // A share of the flop peak says something only where arithmetic is the bound.
    const json& peak = at(result, at(result, "/percent/peak_max_clock").is_null() ? "/percent/peak_measured_clock"
                                                                                   : "/percent/peak_max_clock");
    cells.push_back({bound == "compute" ? percent_or_empty(peak) : std::string()});
    cells.push_back({seconds_or_empty(at(result, "/transfer/h2d_s"), style)});
    cells.push_back({seconds_or_empty(at(result, "/transfer/d2h_s"), style)});
    cells.push_back(check_of(result, style));
    cells.push_back(note_of(result, notes));
    table.add_row(std::move(cells));
  }
  out += table.render(style);
  out += '\n' + notes.render(style);
  out += wrapped(summary_line(results), style, emphasis::heading);
  out += wrapped(fmt::format("time: median {} half the inter-quartile range; of roof: share of what the ceilings measured "
                             "here allow; check: compared with a reference in this run",
                             style.unicode ? "±" : "+-"),
                 style, emphasis::muted);
  return out;
}

}  // namespace prumo::bench
