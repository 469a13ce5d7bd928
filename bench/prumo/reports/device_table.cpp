// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reports/device_table.hpp"

#include "results/result_fields.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

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
  if (name.ends_with("_bytes") && value.is_number_integer() && value >= 0) {
    return format_bytes(value.get<std::uint64_t>());
  }
  if (name.ends_with("_mhz")) return fmt::format("{:.0f} MHz", value.get<double>());
  if (name.ends_with("_w")) return fmt::format("{} W", format_significant(value.get<double>(), 3));
  if (value.is_number_float()) return format_significant(value.get<double>(), 4);
  return value.dump();
}

struct fact {
  const char* name;
  const char* title;
};

/// The facts that docs/protocol.md names, in the order in which a person asks for them.
constexpr auto known_facts = std::to_array<fact>({{"vendor", "vendor"},
                                                  {"cores", "cores"},
                                                  {"core_kinds", "core kinds"},
                                                  {"smt", "threads per core"},
                                                  {"sockets", "sockets"},
                                                  {"numa_nodes", "NUMA nodes"},
                                                  {"vector_bits", "vector width, bits"},
                                                  {"instruction_sets", "instruction sets"},
                                                  {"clock_max_mhz", "maximum clock"},
                                                  {"clock_measured_mhz", "measured clock"},
                                                  {"cache_l1d_bytes", "L1 data cache"},
                                                  {"cache_l2_bytes", "L2 cache"},
                                                  {"cache_llc_bytes", "last-level cache"},
                                                  {"memory_bytes", "memory"},
                                                  {"memory_available_bytes", "available memory"},
                                                  {"power_source", "power source"},
                                                  {"governor", "governor"},
                                                  {"power_limit_w", "power limit"},
                                                  {"affinity", "affinity"},
                                                  {"cpu_quota", "CPU quota"}});

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string facts_block(const json& device, const text_style& style) {
  const json& facts = field(device, "/facts");
  text_table table({{""}, {"", text_table::align::left, text_table::role::prose}}, text_table::below_heading);
  if (const json& threads = field(device, "/threads"); !threads.is_null()) {
    table.add_row({{"threads used"}, {fact_text("threads", threads)}});
  }
  std::set<std::string> shown;
  for (const fact& entry : known_facts) {
    shown.insert(entry.name);
    // A fact that this kind of device does not have is absent; one that it has but cannot tell is null.
    if (!facts.is_object() || !facts.contains(entry.name)) continue;
    table.add_row({{entry.title}, {fact_text(entry.name, facts.at(entry.name))}});
  }
  if (facts.is_object()) {
    for (const auto& [name, value] : facts.items()) {
      if (shown.count(name) == 0) table.add_row({{spaced(name)}, {fact_text(name, value)}});
    }
  }
  return table.render(style);
}

std::string rate_text(const json& value, std::string_view unit) {
  return value.is_number() ? format_rate(value.get<double>(), unit) : "n/a";
}

std::string peaks_block(const json& peaks, const text_style& style) {
  using align = text_table::align;
  text_table table({{"peak", align::left},
                    {"type", align::left},
                    {"accumulator", align::left},
                    {"value", align::right},
                    {"clock", align::left},
                    {"from", align::left, text_table::role::prose}},
                   text_table::below_heading);
  for (const json& peak : peaks) {
    const std::string unit = text_of(field(peak, "/unit"));
    std::string clock = text_of(field(peak, "/clock"));
    if (const json& mhz = field(peak, "/clock_mhz"); mhz.is_number()) {
      clock += (clock.empty() ? "" : " ") + fact_text("clock_mhz", mhz);
    }
    table.add_row({{unit},
                   {text_of(field(peak, "/dtype"))},
                   {text_of(field(peak, "/accumulator"))},
                   {rate_text(field(peak, "/value"), unit == "memory" ? "B/s" : "FLOP/s")},
                   {clock},
                   {text_of(field(peak, "/source"))}});
  }
  return table.render(style);
}

std::string ceilings_block(const json& ceilings, const text_style& style) {
  using align = text_table::align;
  using role = text_table::role;
  text_table table({{"measured ceiling", align::left},
                    {"type", align::left, role::axis},
                    {"size", align::right, role::axis},
                    {"cache", align::left, role::axis},
                    {"value", align::right}},
                   text_table::below_heading);
  for (const json& ceiling : ceilings) {
    const std::string unit = text_of(field(ceiling, "/unit"));
    const json& value = field(ceiling, "/value");
    const bool sized = !field(ceiling, "/bytes_per_array").is_null();  // arithmetic and launches are not
    const bool is_time = unit == "s" && value.is_number();
    table.add_row({{text_of(field(ceiling, "/probe"))},
                   {text_of(field(ceiling, "/dtype"))},
                   {sized ? fact_text("array_bytes", field(ceiling, "/bytes_per_array")) : ""},
                   {sized ? text_of(field(ceiling, "/cache")) : ""},
                   {is_time ? format_seconds(value.get<double>())
                            : rate_text(value, unit == "flop/s" ? "FLOP/s"
                                               : unit == "op/s" ? "OP/s"
                                                                : unit)}});
  }
  return table.render(style);
}

}  // namespace

std::string devices_table(const json& devices, const text_style& style) {
  if (devices.empty()) return "No devices.\n";
  std::string out;
  for (const json& device : devices) {
    if (!out.empty()) out += '\n';
    const std::string name = text_of(field(device, "/name"));
    const std::string title = fmt::format("{}  {}", text_of(field(device, "/id")), name.empty() ? "n/a" : name);
    out += emphasize(fit(sanitize(title), static_cast<std::size_t>(style.width), style.unicode), emphasis::heading,
                     style) +
           '\n';
    out += facts_block(device, style);
    const json& peaks = field(device, "/peaks");
    out += peaks.empty() ? "  peaks: none known\n" : peaks_block(peaks, style);
    const json& ceilings = field(device, "/ceilings");
    if (!ceilings.empty()) out += ceilings_block(ceilings, style);
  }
  return out;
}

}  // namespace prumo::bench
