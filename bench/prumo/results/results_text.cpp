// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text side of results_file.hpp: keys, reading and serialising.
#include "results/results_text.hpp"

#include "results/json_text.hpp"
#include "results/results_file.hpp"
#include "results/results_schema.hpp"
#include "terminal/text.hpp"
#include <prumo/files/input_file.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
using ordered_json = nlohmann::ordered_json;

constexpr std::string_view schema_family = "prumo.results/";

[[noreturn]] void refuse(std::string_view name, std::string_view what) {
  throw file_error(file_error::cause::input, fmt::format("{}: {}", sanitize(name), what));
}

/// `name=value,...` in the order of the names. Whatever could be taken for a separator is percent-encoded.
std::string encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '_' || c == '-' || c == '.' || c == '+');
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return result;
}

std::string canonical_value(const json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return encoded(value.get_ref<const std::string&>());
  if (value.is_number_float()) {
    const double number = value.get<double>();
    constexpr double exact = 9007199254740992.0;  // 2^53
    // 1.0 and 1 are the same parameter; -0.0 is 0.
    if (std::abs(number) < exact && number == std::trunc(number)) {
      return fmt::format("{}", static_cast<long long>(number));
    }
    return fmt::format("{}", number);
  }
  return encoded(value.dump());
}

std::string canonical_object(const json& object) {
  std::string result;
  for (const auto& [name, value] : object.items()) {  // nlohmann::json keeps names sorted
    if (!result.empty()) result += ',';
    result += encoded(name) + '=' + canonical_value(value);
  }
  return result.empty() ? "-" : result;
}

std::vector<std::string> field_names(const ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

/// Known fields first, in the order of the documentation, then the others by name.
ordered_json in_order(const json& object, const std::vector<std::string>& names) {
  ordered_json result = ordered_json::object();
  for (const std::string& name : names) {
    if (const auto field = object.find(name); field != object.end()) result[name] = ordered_json(*field);
  }
  for (const auto& [name, value] : object.items()) {
    if (!result.contains(name)) result[name] = ordered_json(value);
  }
  return result;
}

std::string dumped(const ordered_json& value, int indent = -1) {
  return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

/// A result with all of its fields, in the order of the documentation.
const ordered_json& blank_fields() {
  static const ordered_json blank = {
      {"kind", "op"},
      {"key", ""},
      {"op", nullptr},
      {"dtype", nullptr},
      {"shape", ordered_json::object()},
      {"layout", "right"},
      {"parameters", ordered_json::object()},
      {"compute_mode", "strict"},
      {"bytes_per_array", nullptr},
      {"device", nullptr},
      {"threads", nullptr},
      {"implementation", nullptr},
      {"data", "resident"},
      {"host_memory", nullptr},
      {"cache", "cold"},
      {"dispatch", "recorded"},
      {"status", "failed"},
      {"reason", nullptr},
      {"verified", nullptr},
      {"error", nullptr},
      {"error_bound", nullptr},
      {"verification", nullptr},
      {"time_s", nullptr},
      {"wall_s", nullptr},
      {"transfer", nullptr},
      {"flops", {{"counted", nullptr}, {"counted_implementation", nullptr}, {"hardware", nullptr}, {"model", nullptr}}},
      {"bytes", nullptr},
      {"rates", {{"gflops", nullptr}, {"gbytes", nullptr}, {"gelements", nullptr}}},
      {"percent", {{"peak_max_clock", nullptr}, {"peak_measured_clock", nullptr}, {"roofline", nullptr}}},
      {"bound", nullptr},
      {"roof", nullptr},
      {"clock_mhz", nullptr},
      {"temperature_c", nullptr},
      {"energy_j", nullptr},
      {"warnings", ordered_json::array()},
      {"run_id", nullptr},
      {"measured", nullptr}};
  return blank;
}

}  // namespace

json blank_result() { return blank_fields(); }

std::string result_key(const json& result) {
  const auto plain = [&](const char* name) { return canonical_value(result.at(name)); };
  const auto object = [&](const char* name) { return canonical_object(result.at(name)); };
  const auto threads = result.find("threads");
  const bool chosen = threads != result.end() && threads->is_number();
  const auto dispatch = result.find("dispatch");
  const bool single = dispatch != result.end() && *dispatch == "single";
  return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}/{}{}{}", plain("op"), plain("dtype"), object("shape"), plain("layout"),
                     object("parameters"), plain("compute_mode"), plain("data"), plain("host_memory"), plain("cache"),
                     single ? "/dispatch=single" : "", chosen ? "/threads=" + canonical_value(*threads) : "");
}

json checked_results(json document, std::string_view name) {
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (!document.is_object() || schema == document.end() || !schema->is_string() ||
      schema->get_ref<const std::string&>().compare(0, schema_family.size(), schema_family) != 0) {
    refuse(name,
           fmt::format("is JSON, but no results file of prumo: its field 'schema' is not '{}'", results_schema_name));
  }
  const std::string version = schema->get<std::string>();
  if (version != results_schema_name) {
    refuse(name, fmt::format("has the format '{}', but this prumo reads '{}'; use a newer prumo",
                             fit(sanitize(version), 60), results_schema_name));
  }
  if (const auto violations = validate_results(document); !violations.empty()) {
    const auto& first = violations.front();
    const std::string more = violations.size() == 1 ? "" : fmt::format(" (and {} more)", violations.size() - 1);
    refuse(name, fmt::format("breaks the format {} at {}: {}{}; docs/results.md describes it", results_schema_name,
                             first.path.empty() ? "its top level" : sanitize(first.path),
                             fit(sanitize(first.message), 200), more));
  }
  return document;
}

json parse_results(std::string_view text, std::string_view name) {
  return checked_results(parse_json(text, name), name);
}

json load_results(const std::string& path) { return parse_results(read_text(path), input_name(path)); }

std::string dump_result_line(const json& result) {
  ordered_json ordered = in_order(result, field_names(blank_fields()));
  if (const auto time = result.find("time_s"); time != result.end() && time->is_object()) {
    ordered["time_s"] = in_order(*time, {"median", "interval", "p25", "p75", "samples", "runs", "stop", "clock"});
  }
  return dumped(ordered);
}

std::string dump_document(const json& run, const json& devices, const std::vector<std::string>& lines) {
  std::string text = fmt::format("{{\n  \"schema\": \"{}\",\n  \"run\": ", results_schema_name);
  text += indented(dumped(
      in_order(run, {"id", "started", "command", "versions", "host", "cpu", "memory", "power", "environment"}), 2));
  text += ",\n  \"devices\": [";
  const char* separator = "\n    ";
  for (const json& device : devices) {
    text += separator;
    text += dumped(in_order(device, {"id", "backend", "name", "threads", "facts", "peaks", "ceilings"}));
    separator = ",\n    ";
  }
  text += devices.empty() ? "],\n" : "\n  ],\n";
  text += "  \"results\": [";
  separator = "\n    ";
  for (const std::string& line : lines) {
    text += separator;
    text += line;
    separator = ",\n    ";
  }
  text += lines.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return text;
}

std::string dump_results(const json& document) {
  std::vector<std::string> lines;
  for (const json& result : document.at("results")) lines.push_back(dump_result_line(result));
  return sanitize(dump_document(document.at("run"), document.at("devices"), lines), "\n");
}

}  // namespace prumo::bench
