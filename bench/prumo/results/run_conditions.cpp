// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/run_conditions.hpp"

#include "results/result_fields.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

namespace prumo::bench {
namespace {

using nlohmann::json;

struct condition {
  const char* name;     ///< in `conditions`
  const char* pointer;  ///< in the record of a run, or in the entry of a device
};

constexpr auto conditions_of_runs = std::to_array<condition>({
    {"host", "/host/name"},
    {"processor", "/cpu/name"},
    {"power_source", "/power/source"},
    {"prumo", "/versions/prumo"},
    {"prumo_build", "/versions/prumo build"},
});

constexpr auto conditions_of_devices = std::to_array<condition>({
    {"name", "/name"},
    {"threads", "/threads"},
    {"worker", "/worker/version"},
    {"build", "/worker/build/id"},
    {"build_type", "/worker/build/type"},
    {"flags", "/worker/build/flags"},
    {"sanitizers", "/worker/build/sanitizers"},
    {"instruction_set", "/facts/compiled_instruction_set"},
    {"uuid", "/facts/uuid"},
    {"driver_version", "/facts/driver_version"},
    {"power_limit_w", "/facts/power_limit_w"},
    {"power_source", "/facts/power_source"},
    {"governor", "/facts/governor"},
    {"turbo", "/facts/turbo"},
    {"ecc", "/facts/ecc"},
    {"mig", "/facts/mig"},
    {"affinity", "/facts/affinity"},
    {"cpu_set", "/facts/cpu_set"},
    {"cpu_quota", "/facts/cpu_quota"},
    {"proc_bind", "/facts/omp_proc_bind"},
    {"places", "/facts/omp_places"},
    {"huge_pages", "/facts/huge_pages"},
    {"numa_balancing", "/facts/numa_balancing"},
});

constexpr std::array<std::string_view, 7> idle_variables{"PRUMO_CCACHE",     "PRUMO_ROOT_ID",   "PRUMO_CACHE",
                                                         "PRUMO_BUILD_DIR",  "PRUMO_ROOT_MARK", "PRUMO_MIRROR",
                                                         "PRUMO_WORKER_PATH"};

template <std::size_t Count>
json picked(const std::array<condition, Count>& wanted, const json& from) {
  json found = json::object();
  for (const condition& it : wanted) {
    if (const json& value = field(from, it.pointer); !value.is_null()) found[it.name] = value;
  }
  return found;
}

json conditions_of_device(const json& entry) {
  json found = picked(conditions_of_devices, entry);
  if (const json& versions = field(entry, "/worker/versions"); versions.is_object()) found["versions"] = versions;
  if (const json& variables = field(entry, "/worker/environment"); variables.is_object()) {
    json& kept = found["environment"] = json::object();
    for (const auto& [name, value] : variables.items()) {
      if (!is_idle_variable(name)) kept[name] = value;
    }
  }
  return found;
}

/// Devices of one id are told apart by their numbers of threads.
std::string label_of(const json& entry, const json& devices) {
  const json& id = field(entry, "/id");
  const auto same = std::ranges::count_if(devices, [&](const json& it) { return field(it, "/id") == id; });
  const auto threads = number_of(field(entry, "/threads"));
  if (same < 2 || !threads) return text_of(id);
  return fmt::format("{} ({})", text_of(id), format_threads(static_cast<int>(*threads)));
}

std::string told(const json& value) {
  if (value.is_null()) return "not set";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.5g}", value.get<double>());
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_same(const json& a, const json& b) {
  if (!a.is_number() || !b.is_number()) return a == b;
  constexpr double rounding = 1e-3;  // a limit that is written in other units
  const double one = a.get<double>();
  const double other = b.get<double>();
  return std::abs(one - other) <= rounding * std::max(std::abs(one), std::abs(other));
}

/// Compares two objects. Variables that one of the two lacks are not set there; other things are unknown there.
void add_changes(std::vector<condition_change>& changes, const std::string& prefix, const json& before, const json& now,
                 bool absent_is_unset = false) {
  if (!before.is_object() || !now.is_object()) return;
  json names = before;
  names.update(now);
  for (const auto& [name, ignored] : names.items()) {
    const json one = before.value(name, json());
    const json other = now.value(name, json());
    if (one.is_object() || other.is_object()) {
      const std::string group = name == "devices"                             ? ""
                                : name == "environment" || name == "versions" ? prefix
                                                                              : prefix + name + ' ';
      add_changes(changes, group, one, other, name == "environment");
    } else if (!is_same(one, other) && (absent_is_unset || (!one.is_null() && !other.is_null()))) {
      changes.push_back({prefix + name, told(one), told(other)});
    }
  }
}

/// All records of runs in a document, the first one first.
std::vector<const json*> runs_of(const json& document) {
  const json& first = document.at("run");
  std::vector<const json*> runs{&first};
  if (const json& resumed = field(first, "/resumed"); resumed.is_array()) {
    for (const json& it : resumed) runs.push_back(&it);
  }
  return runs;
}

}  // namespace

bool is_idle_variable(std::string_view name) { return std::ranges::find(idle_variables, name) != idle_variables.end(); }

json run_conditions(const json& run, const json& devices) {
  json conditions = picked(conditions_of_runs, run);
  json& of_devices = conditions["devices"] = json::object();
  for (const json& entry : devices) of_devices[label_of(entry, devices)] = conditions_of_device(entry);
  return conditions;
}

json last_conditions(const json& document) {
  const json& last = *runs_of(document).back();
  const json& recorded = field(last, "/conditions");
  return recorded.is_object() ? recorded : run_conditions(last, document.at("devices"));
}

std::vector<condition_change> changed_conditions(const json& before, const json& now) {
  std::vector<condition_change> changes;
  add_changes(changes, "", before, now);
  return changes;
}

std::string describe_mixed_conditions(const json& document) {
  const std::vector<const json*> runs = runs_of(document);
  if (runs.size() < 2) return {};
  std::map<std::string, std::size_t> measured;  // results by the run that measured them; by "" if they do not tell
  for (const json& result : document.at("results")) {
    if (field(result, "/time_s").is_object()) ++measured[text_of(field(result, "/run_id"))];
  }
  std::vector<std::string> differences;
  std::vector<std::size_t> counts;
  const json* earlier = nullptr;
  for (const json* run : runs) {
    const auto results = measured.find(text_of(field(*run, "/id")));
    const json& conditions = field(*run, "/conditions");
    if (results == measured.end() || !conditions.is_object()) continue;
    std::vector<condition_change> changes;
    if (earlier != nullptr) changes = changed_conditions(*earlier, conditions);
    for (const condition_change& it : changes) {
      std::string text = fmt::format("{}: {}, then {}", it.what, it.before, it.now);
      if (std::ranges::find(differences, text) == differences.end()) differences.push_back(std::move(text));
    }
    if (counts.empty() || !changes.empty()) counts.push_back(0);
    counts.back() += results->second;
    earlier = &conditions;
  }
  if (differences.empty()) return {};
  return fmt::format("its results were measured under {} different conditions ({} results): {}", counts.size(),
                     fmt::join(counts, " and "), fmt::join(differences, "; "));
}

}  // namespace prumo::bench
