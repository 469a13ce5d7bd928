// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/context.hpp"

#include "results/result_fields.hpp"
#include "results/run_conditions.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// The order in which differences are told.
enum class relevance { machine, power, version, build, library, threads, environment, clock, system, other };

struct known_fact {
  std::string_view name;  ///< in `facts`
  std::string_view title;
  relevance rank;
};

constexpr auto known_facts = std::to_array<known_fact>({
    {"uuid", "GPU", relevance::machine},
    {"throttle", "throttled", relevance::power},
    {"power_source", "power source", relevance::power},
    {"power_limit_w", "power limit (W)", relevance::power},
    {"governor", "governor", relevance::power},
    {"turbo", "turbo", relevance::power},
    {"frequency_scaling", "frequency scaling", relevance::power},
    {"mig", "MIG", relevance::power},
    {"ecc", "ECC", relevance::power},
    {"other_processes", "other processes", relevance::power},
    {"driver_version", "driver", relevance::library},
    {"compiled_instruction_set", "instruction set", relevance::build},
    {"cores_usable", "cores", relevance::threads},
    {"affinity", "affinity", relevance::threads},
    {"cpu_set", "cpu set", relevance::threads},
    {"cpu_quota", "cpu quota", relevance::threads},
    {"omp_proc_bind", "proc_bind", relevance::threads},
    {"omp_places", "places", relevance::threads},
    {"huge_pages", "huge pages", relevance::threads},
    {"numa_balancing", "NUMA balancing", relevance::threads},
    {"persistence_mode", "persistence mode", relevance::power},
    {"compute_mode", "compute mode of the GPU", relevance::power},
    {"clock_max_mhz", "maximum clock (MHz)", relevance::clock},
    {"clock_measured_mhz", "measured clock (MHz)", relevance::clock},
    {"clock_under_load_mhz", "clock under load (MHz)", relevance::clock},
    {"memory_clock_max_mhz", "memory clock (MHz)", relevance::clock},
    {"memory_bytes", "memory of the device", relevance::system},
    {"virtual_machine", "virtual machine", relevance::system},
    {"address_space_randomised", "address space randomised", relevance::system},
});

using fact_name = std::pair<relevance, std::string>;
using fact_values = std::map<fact_name, json>;

bool is_measured(const std::string& title) { return title.find("clock") != std::string::npos; }

void put(fact_values& values, relevance rank, const std::string& title, const json& value) {
  if (!value.is_null() && !(value.is_string() && value.get_ref<const std::string&>().empty())) {
    values[{rank, title}] = value;
  }
}

void put_facts(fact_values& values, const json& entry, const std::string& prefix) {
  const json& facts = field(entry, "/facts");
  for (const known_fact& known : known_facts) {
    if (!facts.is_object() || !facts.contains(known.name)) continue;
    put(values, known.rank, prefix + std::string(known.title), facts.at(std::string(known.name)));
  }
  put(values, relevance::machine, prefix + "device", field(entry, "/name"));
  put(values, relevance::threads, prefix + "threads", field(entry, "/threads"));
  put(values, relevance::version, prefix + "worker", field(entry, "/worker/version"));
  put(values, relevance::version, prefix + "build", field(entry, "/worker/build/id"));
  put(values, relevance::build, prefix + "build type", field(entry, "/worker/build/type"));
  put(values, relevance::build, prefix + "flags", field(entry, "/worker/build/flags"));
  const json& versions = field(entry, "/worker/versions");
  if (!versions.is_object()) return;
  for (const auto& [name, version] : versions.items()) {
    const relevance rank = name == "compiler" ? relevance::build : relevance::library;
    put(values, rank, prefix + name, version);
  }
}

void put_run(fact_values& values, const json& run) {
  put(values, relevance::machine, "host", field(run, "/host/name"));
  put(values, relevance::machine, "processor", field(run, "/cpu/name"));
  put(values, relevance::machine, "logical processors", field(run, "/cpu/logical_processors"));
  put(values, relevance::power, "power source", field(run, "/power/source"));
  put(values, relevance::power, "governor", field(run, "/power/governor"));
  put(values, relevance::system, "kernel", field(run, "/host/kernel"));
  put(values, relevance::system, "distribution", field(run, "/host/distribution"));
  if (const json& bytes = field(run, "/memory/bytes"); bytes.is_number()) {
    // Firmware and kernel take their share of memory, which varies by some pages.
    put(values, relevance::system, "memory", fmt::format("{:.0f} GiB", bytes.get<double>() / (1024.0 * 1024 * 1024)));
  }
  const json& versions = field(run, "/versions");
  for (const char* name : {"prumo", "nvbench", "Google Benchmark"}) {
    if (versions.is_object() && versions.contains(name)) put(values, relevance::version, name, versions.at(name));
  }
  const json& environment = field(run, "/environment");
  if (!environment.is_object()) return;
  for (const auto& [name, value] : environment.items()) {
    if (!is_idle_variable(name)) put(values, relevance::environment, name, value);
  }
}

std::string told(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return format_significant(value.get<double>(), 4);
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const json& word : value) words.push_back(told(word));
    return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
  }
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool differ(const std::string& title, const json& a, const json& b) {
  if (!a.is_number() || !b.is_number() || !is_measured(title)) return a != b;
  constexpr double tolerance = 0.02;  // clocks wander by a percent from second to second
  const double one = a.get<double>();
  const double other = b.get<double>();
  return std::abs(one - other) > tolerance * std::max(std::abs(one), std::abs(other));
}

/// A device that has cases in the comparison, and the number of threads that was chosen for them; 0: none was.
struct used_device {
  std::string id;
  int threads = 0;
  auto operator<=>(const used_device&) const = default;
};

std::set<used_device> devices_of(const comparison& of, std::size_t side) {
  std::set<used_device> devices;
  for (const compared_case& it : of.cases) {
    for (const measurement* row : it.cells[side]) {
      const auto threads = number_of(field(row->result, "/threads"));
      devices.insert({text_of(field(row->result, "/device")), static_cast<int>(threads.value_or(0))});
    }
  }
  return devices;
}

const json& entry_of(const comparison_source& source, const used_device& device) {
  for (const json& entry : source.devices) {
    const bool same = text_of(field(entry, "/id")) == device.id;
    if (same && device.threads > 0 && field(entry, "/threads") == device.threads) return entry;
  }
  return device_entry(source, device.id);
}

std::string title_of(const used_device& device) {
  return device.threads > 0 ? fmt::format("{} ({}) ", device.id, format_threads(device.threads)) : device.id + ' ';
}

}  // namespace

const json& device_entry(const comparison_source& source, const std::string& device) {
  static const json none;
  for (const json& entry : source.devices) {
    if (text_of(field(entry, "/id")) == device) return entry;
  }
  return none;
}

std::string describe_device(const comparison_source& source, const std::string& device) {
  const json& entry = device_entry(source, device);
  std::string name = text_of(field(entry, "/name"));
  if (name.empty()) name = text_of(field(source.run, "/cpu/name"));
  std::string text = name.empty() ? "n/a" : name;
  std::vector<double> threads;  // an entry for each number of them
  for (const json& it : source.devices) {
    const auto number = text_of(field(it, "/id")) == device ? number_of(field(it, "/threads")) : std::nullopt;
    if (number && *number > 0) threads.push_back(*number);
  }
  if (!threads.empty()) {
    text += fmt::format(", {:.0f} {}", fmt::join(threads, ", "), threads.back() > 1 ? "threads" : "thread");
  }
  if (const std::string host = text_of(field(source.run, "/host/name")); !host.empty()) text += ", on " + host;
  return text;
}

bool is_same_device(const comparison_source& a, const comparison_source& b, const std::string& device) {
  const json& one = device_entry(a, device);
  const json& other = device_entry(b, device);
  if (one.is_null() || other.is_null()) return false;
  const auto agree = [](const json& x, const json& y) { return x.is_null() || y.is_null() || x == y; };
  return agree(field(one, "/name"), field(other, "/name")) && agree(field(one, "/backend"), field(other, "/backend")) &&
         agree(field(a.run, "/cpu/name"), field(b.run, "/cpu/name")) &&
         agree(field(a.run, "/host/name"), field(b.run, "/host/name"));
}

std::vector<context_difference> context_differences(const comparison& of) {
  const auto knows_environment = [](const comparison_source* source) {
    return !field(source->run, "/host/name").is_null();  // published figures and nvbench tell nothing of it
  };
  // For each fact what each side says of it, each value once.
  std::map<fact_name, std::vector<std::vector<json>>> all;
  std::vector<std::set<used_device>> devices;
  std::set<used_device> every_device;
  for (std::size_t side = 0; side < of.sides.size(); ++side) {
    devices.push_back(devices_of(of, side));
    every_device.insert(devices.back().begin(), devices.back().end());
  }
  const bool versions = of.mode == comparison_mode::versions;
  for (std::size_t side = 0; side < of.sides.size(); ++side) {
    for (const comparison_source* source : of.sides[side].sources) {
      fact_values values;
      put_run(values, source->run);
      for (const used_device& device : devices[side]) {
        put_facts(values, entry_of(*source, device), versions && every_device.size() > 1 ? title_of(device) : "");
      }
      for (const auto& [name, value] : values) {
        auto& sides = all[name];
        sides.resize(of.sides.size());
        const bool known =
            std::ranges::any_of(sides[side], [&](const json& it) { return !differ(name.second, it, value); });
        if (!known) sides[side].push_back(value);
      }
    }
  }
  std::vector<context_difference> found;
  for (auto& [name, sides] : all) {
    const auto& [rank, title] = name;
    if (!versions && (rank == relevance::machine || rank == relevance::clock || rank == relevance::system ||
                      rank == relevance::threads || title == "ECC" || title == "power limit (W)" || title == "build")) {
      continue;
    }
    const json* first = nullptr;
    bool different = false;
    for (std::size_t side = 0; side < of.sides.size(); ++side) {
      std::vector<json>& values = sides[side];
      const bool unset = values.empty() && rank == relevance::environment;
      if (unset && std::ranges::any_of(of.sides[side].sources, knows_environment)) values.emplace_back("not set");
      // A machine on battery is told even where the other one does not know.
      if (values.empty() && title == "power source") values.emplace_back("unknown");
      for (const json& value : values) {
        if (first == nullptr) first = &value;
        different = different || differ(title, *first, value);
      }
    }
    if (!different) continue;
    context_difference difference{title, {}};
    for (const std::vector<json>& values : sides) {
      std::vector<std::string> words;
      for (const json& value : values) words.push_back(told(value));
      difference.values.push_back(words.empty() ? "unknown" : fmt::format("{}", fmt::join(words, " / ")));
    }
    found.push_back(std::move(difference));
  }
  return found;
}

}  // namespace prumo::bench
