// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/csv.hpp"

#include "results/result_fields.hpp"
#include "terminal/text.hpp"

#include <array>
#include <map>

namespace prumo::bench {
namespace {

using nlohmann::json;

struct csv_column {
  const char* title;
  const char* pointer;  ///< into a result
};

// Documented in docs/results.md.
constexpr std::array<csv_column, 54> result_columns = {{
    {"kind", "/kind"},
    {"key", "/key"},
    {"op", "/op"},
    {"dtype", "/dtype"},
    {"shape", "/shape"},
    {"layout", "/layout"},
    {"parameters", "/parameters"},
    {"compute_mode", "/compute_mode"},
    {"bytes_per_array", "/bytes_per_array"},
    {"device", "/device"},
    {"threads", "/threads"},
    {"implementation", "/implementation"},
    {"data", "/data"},
    {"host_memory", "/host_memory"},
    {"cache", "/cache"},
    {"dispatch", "/dispatch"},
    {"status", "/status"},
    {"reason", "/reason"},
    {"verified", "/verified"},
    {"error", "/error"},
    {"error_bound", "/error_bound"},
    {"time_median_s", "/time_s/median"},
    {"time_p25_s", "/time_s/p25"},
    {"time_p75_s", "/time_s/p75"},
    {"samples", "/time_s/samples"},
    {"stop", "/time_s/stop"},
    {"clock", "/time_s/clock"},
    {"wall_s", "/wall_s"},
    {"h2d_s", "/transfer/h2d_s"},
    {"d2h_s", "/transfer/d2h_s"},
    {"h2d_bytes", "/transfer/h2d_bytes"},
    {"d2h_bytes", "/transfer/d2h_bytes"},
    {"flops_counted", "/flops/counted/total"},
    {"flops_counted_source", "/flops/counted/source"},
    {"flops_hardware", "/flops/hardware/total"},
    {"flops_model", "/flops/model"},
    {"bytes", "/bytes"},
    {"gflops", "/rates/gflops"},
    {"gbytes", "/rates/gbytes"},
    {"gelements", "/rates/gelements"},
    {"percent_peak_max_clock", "/percent/peak_max_clock"},
    {"percent_peak_measured_clock", "/percent/peak_measured_clock"},
    {"percent_roofline", "/percent/roofline"},
    {"bound", "/bound"},
    {"clock_mhz", "/clock_mhz"},
    {"temperature_c", "/temperature_c"},
    {"energy_j", "/energy_j"},
    {"net", "/net"},
    {"accuracy", "/accuracy/share"},
    {"weights_sha256", "/weights_sha256"},
    {"user_s", "/usage/user_s"},
    {"system_s", "/usage/system_s"},
    {"cpu_share", "/usage/cpu_share"},
    {"peak_memory_bytes", "/usage/peak_memory_bytes"},
}};

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string field_of(const json& result, const csv_column& column) {
  const json::json_pointer pointer(column.pointer);
  if (!result.contains(pointer)) return {};
  const json& value = result.at(pointer);
  if (value.is_null()) return {};
  if (value.is_array()) return std::to_string(value.size());
  if (value.is_object()) return csv_field(named_values(value));
  if (value.is_string()) return csv_field(value.get_ref<const std::string&>());
  return dump(value);
}

std::string joined(const json& texts) {
  std::string result;
  for (const json& text : texts) {
    if (!text.is_string()) continue;
    if (!result.empty()) result += "; ";
    result += text.get_ref<const std::string&>();
  }
  return result;
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string value;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) value = "'";
  value += sanitize(text, "\t\r\n");
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string results_csv(const json& document) {
  std::map<std::string, std::string> device_names;
  for (const json& device : document.at("devices")) {
    if (device.at("name").is_string()) device_names[device.at("id").get<std::string>()] = device.at("name");
  }
  const std::string run_id = csv_field(document.at("run").at("id").get<std::string>());

  std::string text = "run_id,device_name";
  for (const csv_column& column : result_columns) text += std::string(",") + column.title;
  text += ",warnings\r\n";
  for (const json& result : document.at("results")) {
    const auto name = device_names.find(result.at("device").get<std::string>());
    const json own = result.value("run_id", json());
    text += (own.is_string() ? csv_field(own.get_ref<const std::string&>()) : run_id) + ',' +
            (name == device_names.end() ? std::string() : csv_field(name->second));
    for (const csv_column& column : result_columns) text += ',' + field_of(result, column);
    text += ',' + csv_field(joined(result.at("warnings"))) + "\r\n";
  }
  return text;
}

}  // namespace prumo::bench
