// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/foreign_formats.hpp"

#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace prumo::bench {

using nlohmann::json;

bool is_possible_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

json foreign_result(const std::string& name, const std::string& arguments) {
  json result = blank_result();
  result["kind"] = "foreign";
  result["op"] = name;
  result["case"] = arguments;
  result["key"] = arguments.empty() ? name : name + '/' + arguments;
  for (const char* unknown : {"layout", "compute_mode", "data", "cache", "dispatch"}) result[unknown] = nullptr;
  return result;
}

void set_foreign_time(json& result, double seconds) {
  if (is_possible_time(seconds)) {
    result["status"] = "ok";
    result["reason"] = nullptr;
    result["time_s"] = {{"median", seconds}};
  } else {
    result["status"] = "failed";
    result["reason"] = std::isfinite(seconds) ? fmt::format("its file says that it took {} s", seconds)
                                              : std::string("its file has no time for it");
  }
}

void require_version_1(const std::string& format, const json& version, const std::string& name) {
  const auto number = number_of(version);
  if (!number || *number == 1) return;
  throw file_error(file_error::cause::input,
                   fmt::format("{}: is {} JSON of version {}, but this prumo reads version 1; use a newer prumo",
                               sanitize(name), format, *number));
}

}  // namespace prumo::bench
