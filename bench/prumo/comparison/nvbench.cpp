// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// nvbench's JSON, as its nvbench/json_printer.cu writes it (file version 1.x).
#include "comparison/foreign_formats.hpp"
#include "results/result_fields.hpp"
#include "results/results_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A named value of a list `[{"name", "type", "value"}, ...]`; null where there is none.
const json& named(const json& list, std::string_view name) {
  static const json null;
  for (const json& entry : list) {
    if (field(entry, "/name") == name) return field(entry, "/value");
  }
  return null;
}

/// A number that may be written as text, for JSON would round large integers.
std::optional<double> loose_number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = text_of(value);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return number;
}

/// The summaries of a state by their tags.
using summaries = std::unordered_map<std::string, const json*>;

summaries summaries_of(const json& state) {
  summaries found;
  for (const json& summary : field(state, "/summaries")) found.emplace(text_of(field(summary, "/tag")), &summary);
  return found;
}

std::optional<double> value_of(const summaries& all, const std::string& tag) {
  const auto summary = all.find(tag);
  if (summary == all.end()) return std::nullopt;
  const auto number = loose_number(named(field(*summary->second, "/data"), "value"));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

/// Samples from the file of little-endian 32-bit floats that a summary names. Nothing where it is not there, or not
/// what was announced: the moments are still there.
std::vector<double> read_samples(const summaries& all, const std::string& kind, const std::string& folder) {
  const auto summary = all.find("nv/json/bin:nv/" + kind + "/sample_times");
  if (summary == all.end()) return {};
  const json& data = field(*summary->second, "/data");
  const fs::path name = text_of(named(data, "filename"));
  const auto size = loose_number(named(data, "size"));
  // A path that leads out of the document's folder is none that nvbench wrote.
  const bool inside = !name.empty() && name.is_relative() && name.lexically_normal().begin()->string() != "..";
  constexpr double most = 1e8;
  if (!inside || !size || !(*size >= 1 && *size <= most)) return {};
  std::ifstream file(fs::path(folder) / name, std::ios::binary);
  std::vector<double> samples;
  std::array<unsigned char, 4> bytes{};
  while (file.read(reinterpret_cast<char*>(bytes.data()), bytes.size())) {
    const std::uint32_t word = bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8 |
                               static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
    const double sample = std::bit_cast<float>(word);
    if (!std::isfinite(sample) || !(sample > 0)) return {};
    samples.push_back(sample);
  }
  if (static_cast<double>(samples.size()) != *size) return {};
  return samples;
}

std::string arguments_of(const json& state) {
  std::string text;
  for (const json& axis : field(state, "/axis_values")) {
    const json& value = field(axis, "/value");
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", text_of(field(axis, "/name")),
                        value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

measurement row_of(const std::string& name, const json& state, const std::string& folder) {
  measurement row;
  row.result = foreign_result(name, arguments_of(state));
  if (field(state, "/is_skipped") == true) {
    const std::string reason = text_of(field(state, "/skip_reason"));
    row.result["status"] = "skipped";
    row.result["reason"] = reason.empty() ? "nvbench skipped it" : reason;
    return row;
  }
  const summaries all = summaries_of(state);
  const bool by_gpu = value_of(all, "nv/cold/time/gpu/mean").has_value();
  const std::string kind = by_gpu ? "cold" : "cpu_only";
  const std::string time = fmt::format("nv/{}/time/{}/", kind, by_gpu ? "gpu" : "cpu");
  const auto mean = value_of(all, time + "mean");
  set_foreign_time(row.result, mean.value_or(std::nan("")));
  if (row.result.at("status") != "ok") return row;
  row.result["cache"] = by_gpu ? json("cold") : json();
  if (const auto clock = value_of(all, "nv/cold/sm_clock_rate/mean")) row.result["clock_mhz"] = *clock / 1e6;
  const auto bytes = value_of(all, fmt::format("nv/{}/bw/global/bytes_per_second", kind));
  const auto items = value_of(all, fmt::format("nv/{}/bw/item_rate", kind));
  if (bytes) row.result["rates"]["gbytes"] = *bytes / 1e9;
  if (items) row.result["rates"]["gelements"] = *items / 1e9;

  auto deviation = value_of(all, time + "stdev/absolute");
  if (const auto relative = value_of(all, time + "stdev/relative"); !deviation && relative) {
    deviation = *relative * *mean;
  }
  const auto count = value_of(all, fmt::format("nv/{}/sample_size", kind));
  if (std::vector<double> samples = read_samples(all, kind, folder); !samples.empty()) {
    row.runs = {process_run(std::move(samples))};
  } else if (deviation && *deviation >= 0 && count && *count >= 2) {
    row.moments = sample_moments{*mean, *deviation, static_cast<std::size_t>(*count)};
  } else {
    row.runs = {process_run{*mean}};  // one sample, whose spread is not known
  }
  return row;
}

std::string device_id(const json& id) { return fmt::format("cuda:{}", id.is_number_integer() ? id.dump() : "?"); }

}  // namespace

bool is_nvbench(const json& document) {
  return field(document, "/devices").is_array() && field(document, "/benchmarks").is_array();
}

comparison_source read_nvbench(const json& document, const std::string& name, const std::string& folder) {
  comparison_source source;
  source.name = name;
  source.format = "nvbench";
  require_version_1(source.format, field(document, "/meta/version/json/major"), name);
  source.run = {{"command", field(document, "/meta/argv")},
                {"versions", {{"nvbench", field(document, "/meta/version/nvbench/string")}}}};
  std::unordered_map<std::string, std::size_t> places;
  for (const json& device : field(document, "/devices")) {
    const std::string id = device_id(field(device, "/id"));
    if (!places.emplace(id, source.devices.size()).second) continue;
    json facts = device.is_object() ? device : json::object();
    for (const char* told : {"id", "name"}) facts.erase(told);
    source.devices.push_back({{"id", id},
                              {"backend", "nvbench"},
                              {"name", field(device, "/name")},
                              {"threads", nullptr},
                              {"facts", std::move(facts)}});
  }
  std::unordered_set<std::string> seen;
  std::size_t repeated = 0;
  for (const json& benchmark : field(document, "/benchmarks")) {
    for (const json& state : field(benchmark, "/states")) {
      const std::string id = device_id(field(state, "/device"));
      const auto [place, is_new] = places.emplace(id, source.devices.size());
      if (is_new) source.devices.push_back({{"id", id}, {"backend", "nvbench"}, {"name", nullptr}});
      measurement row = row_of(text_of(field(benchmark, "/name")), state, folder);
      row.device = place->second;
      row.result["device"] = id;
      if (seen.insert(id + '\n' + row.result.at("key").get<std::string>()).second) {
        source.rows.push_back(std::move(row));
      } else {
        ++repeated;
      }
    }
  }
  if (repeated > 0) {
    source.notes.push_back(fmt::format("{}: has {} states twice; the first one counts", name, repeated));
  }
  return source;
}

}  // namespace prumo::bench
