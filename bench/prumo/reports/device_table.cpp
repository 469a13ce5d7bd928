// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/device_table.hpp"

#include "terminal/units.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

bool ends_with(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}

std::string text(const json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

const json& field_or_null(const json& object, const char* name) {
  static const json null;
  const auto field = object.find(name);
  return field == object.end() ? null : *field;
}

/// A fact for people: the unit is in the end of its name.
std::string fact_text(std::string_view name, const json& value) {
  if (value.is_null()) return "n/a";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string list;
    for (const json& entry : value) list += (list.empty() ? "" : ", ") + fact_text(name, entry);
    return list.empty() ? "none" : list;
  }
  if (value.is_object()) {
    std::string list;
    for (const auto& [key, entry] : value.items()) {
      list += fmt::format("{}{} {}", list.empty() ? "" : ", ", key, fact_text(key, entry));
    }
    return list.empty() ? "none" : list;
  }
  if (ends_with(name, "_bytes") && value.is_number_integer() && value >= 0) {
    return format_bytes(value.get<std::uint64_t>());
  }
  if (ends_with(name, "_mhz")) return fmt::format("{:.0f} MHz", value.get<double>());
  if (ends_with(name, "_w")) return fmt::format("{} W", format_significant(value.get<double>(), 3));
  if (value.is_number_float()) return format_significant(value.get<double>(), 4);
  return value.dump();
}

struct fact {
  const char* name;
  const char* title;
};

struct fact_group {
  const char* title;
  std::vector<fact> facts;
};

/// The facts that docs/protocol.md names, in the order in which a person asks for them.
const std::vector<fact_group>& fact_groups() {
  static const std::vector<fact_group> groups = {
      {"units",
       {{"vendor", "vendor"},
        {"cores", "cores"},
        {"core_kinds", "core kinds"},
        {"smt", "threads a core"},
        {"sockets", "sockets"},
        {"numa_nodes", "NUMA nodes"},
        {"vector_bits", "vector width, bits"},
        {"instruction_sets", "instruction sets"}}},
      {"clocks", {{"clock_max_mhz", "maximum clock"}, {"clock_measured_mhz", "clock measured"}}},
      {"memory",
       {{"cache_l1d_bytes", "L1 data cache"},
        {"cache_l2_bytes", "L2 cache"},
        {"cache_llc_bytes", "last-level cache"},
        {"memory_bytes", "memory"},
        {"memory_available_bytes", "memory available"}}},
      {"power and placement",
       {{"power_source", "power source"},
        {"governor", "governor"},
        {"power_limit_w", "power limit"},
        {"affinity", "affinity"},
        {"cpu_quota", "CPU quota"}}},
  };
  return groups;
}

std::string spaced(std::string name) {
  for (char& c : name) {
    if (c == '_') c = ' ';
  }
  return name;
}

std::string facts_block(const json& device, const text_style& style) {
  const json& facts = field_or_null(device, "facts");
  text_table table({{""}, {""}});
  if (const json& threads = field_or_null(device, "threads"); !threads.is_null()) {
    table.add_row({{"  threads used"}, {fact_text("threads", threads)}});
  }
  std::set<std::string> shown;
  for (const fact_group& group : fact_groups()) {
    for (const fact& entry : group.facts) {
      shown.insert(entry.name);
      // A fact that this kind of device does not have is absent; one that it has but cannot tell is null.
      if (!facts.is_object() || !facts.contains(entry.name)) continue;
      table.add_row({{std::string("  ") + entry.title}, {fact_text(entry.name, facts.at(entry.name))}});
    }
  }
  if (facts.is_object()) {
    for (const auto& [name, value] : facts.items()) {
      if (shown.count(name) == 0) table.add_row({{"  " + spaced(name)}, {fact_text(name, value)}});
    }
  }
  return table.render(style);
}

std::string rate_text(const json& value, std::string_view unit) {
  return value.is_number() ? format_rate(value.get<double>(), unit) : "n/a";
}

std::string peaks_block(const json& peaks, const text_style& style) {
  using align = text_table::align;
  text_table table({{"  peak", align::left},
                    {"type", align::left},
                    {"sum in", align::left},
                    {"value", align::right},
                    {"clock", align::left},
                    {"from", align::left}});
  for (const json& peak : peaks) {
    const std::string unit = text(peak, "unit");
    std::string clock = text(peak, "clock");
    if (const json& mhz = field_or_null(peak, "clock_mhz"); mhz.is_number()) {
      clock += (clock.empty() ? "" : " ") + fact_text("clock_mhz", mhz);
    }
    table.add_row({{"  " + unit},
                   {text(peak, "dtype")},
                   {text(peak, "accumulator")},
                   {rate_text(field_or_null(peak, "value"), unit == "memory" ? "B/s" : "FLOP/s")},
                   {clock},
                   {text(peak, "source")}});
  }
  return table.render(style);
}

std::string ceilings_block(const json& ceilings, const text_style& style) {
  using align = text_table::align;
  text_table table({{"  ceiling measured", align::left},
                    {"type", align::left},
                    {"size", align::right},
                    {"cache", align::left},
                    {"value", align::right}});
  for (const json& ceiling : ceilings) {
    const std::string unit = text(ceiling, "unit");
    const json& value = field_or_null(ceiling, "value");
    const bool sized = !field_or_null(ceiling, "bytes_per_array").is_null();  // arithmetic and launches are not
    const bool is_time = unit == "s" && value.is_number();
    table.add_row(
        {{"  " + text(ceiling, "probe")},
         {text(ceiling, "dtype")},
         {sized ? fact_text("array_bytes", field_or_null(ceiling, "bytes_per_array")) : ""},
         {sized ? text(ceiling, "cache") : ""},
         {is_time ? format_seconds(value.get<double>()) : rate_text(value, unit == "flop/s" ? "FLOP/s" : unit)}});
  }
  return table.render(style);
}

}  // namespace

std::string devices_table(const json& devices, const text_style& style) {
  if (devices.empty()) return "No devices.\n";
  std::string out;
  for (const json& device : devices) {
    if (!out.empty()) out += '\n';
    const std::string name = text(device, "name");
    const std::string title = fmt::format("{}  {}", text(device, "id"), name.empty() ? "n/a" : name);
    out += emphasize(fit(sanitize(title), static_cast<std::size_t>(style.width), style.unicode), emphasis::heading,
                     style) +
           '\n';
    out += facts_block(device, style);
    const json& peaks = field_or_null(device, "peaks");
    out += peaks.empty() ? "  peaks: none known\n" : peaks_block(peaks, style);
    const json& ceilings = field_or_null(device, "ceilings");
    if (!ceilings.empty()) out += ceilings_block(ceilings, style);
  }
  return out;
}

}  // namespace prumo::bench
