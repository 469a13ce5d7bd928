// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

std::string excerpt(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

const json& member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw protocol_error(fmt::format("the field '{}' is missing", name));
  return *found;
}

[[noreturn]] void wrong(std::string_view name, std::string_view expected, const json& value) {
  throw protocol_error(fmt::format("the field '{}' should be {} and is {}", name, expected, excerpt(value)));
}

const json& object_member(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_object()) wrong(name, "an object", value);
  return value;
}

const json& list_member(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_array()) wrong(name, "a list", value);
  return value;
}

std::string string_member(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) wrong(name, "a text", value);
  return value.get<std::string>();
}

std::string optional_string(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_string()) wrong(name, "a text", *found);
  return found->get<std::string>();
}

std::optional<double> optional_number(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number() || !std::isfinite(found->get<double>())) wrong(name, "a number or null", *found);
  return found->get<double>();
}

std::optional<double> optional_non_negative(const json& object, const char* name) {
  const auto value = optional_number(object, name);
  if (value && *value < 0) wrong(name, "a number not below zero", object.at(name));
  return value;
}

std::optional<bool> optional_boolean(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_boolean()) wrong(name, "true, false or null", *found);
  return found->get<bool>();
}

std::vector<std::string> optional_strings(const json& object, const char* name) {
  std::vector<std::string> strings;
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return strings;
  if (!found->is_array()) wrong(name, "a list of texts", *found);
  for (const json& entry : *found) {
    if (!entry.is_string()) wrong(name, "a list of texts", *found);
    strings.push_back(entry.get<std::string>());
  }
  return strings;
}

std::vector<double> times(const json& object, const char* name, bool may_be_zero) {
  std::vector<double> seconds;
  const json& list = list_member(object, name);
  seconds.reserve(list.size());
  for (const json& entry : list) {
    const bool valid = entry.is_number() && std::isfinite(entry.get<double>()) &&
                       (entry.get<double>() > 0 || (may_be_zero && entry.get<double>() == 0));
    if (!valid) wrong(name, may_be_zero ? "times not below zero" : "times above zero", entry);
    seconds.push_back(entry.get<double>());
  }
  return seconds;
}

std::vector<named_number> named_numbers(const json& object, const char* name) {
  std::vector<named_number> numbers;
  if (!object.contains(name) || object.at(name).is_null()) return numbers;
  for (const json& entry : list_member(object, name)) {
    if (!entry.is_object()) wrong(name, "a list of objects", entry);
    numbers.push_back(
        {string_member(entry, "name"), optional_string(entry, "description"), optional_number(entry, "default")});
  }
  return numbers;
}

case_description parse_case(const json& entry) {
  if (!entry.is_object()) wrong("cases", "a list of objects", entry);
  case_description described;
  described.op = string_member(entry, "op");
  described.kind = string_member(entry, "kind");
  if (described.kind != "op" && described.kind != "probe") wrong("kind", "'op' or 'probe'", entry.at("kind"));
  described.description = optional_string(entry, "description");
  if (entry.contains("default")) {
    if (!entry.at("default").is_boolean()) wrong("default", "true or false", entry.at("default"));
    described.in_default_sweep = entry.at("default").get<bool>();
  }
  described.dtypes = optional_strings(entry, "dtypes");
  if (described.dtypes.empty()) wrong("dtypes", "a list of types that is not empty", member(entry, "dtypes"));
  if (entry.contains("missing_dtypes")) {
    const json& missing = object_member(entry, "missing_dtypes");
    for (const auto& it : missing.items()) {
      described.missing_dtypes[it.key()] = string_member(missing, it.key().c_str());
    }
  }
  described.layouts = optional_strings(entry, "layouts");
  described.axes = named_numbers(entry, "axes");
  described.parameters = named_numbers(entry, "parameters");
  described.implementations = optional_strings(entry, "implementations");
  described.compute_modes = optional_strings(entry, "compute_modes");
  described.arrays = static_cast<int>(optional_non_negative(entry, "arrays").value_or(0));
  return described;
}

}  // namespace

hello_answer parse_hello(const json& answer) {
  const json& version = member(answer, "protocol");
  if (!version.is_number_integer() || version.get<std::int64_t>() != protocol_version) {
    throw protocol_error(
        fmt::format("it speaks version {} of the worker protocol, this prumo speaks {}: use a worker "
                    "and a prumo of the same release",
                    excerpt(version), protocol_version));
  }
  hello_answer hello;
  hello.worker = object_member(answer, "worker");
  hello.name = string_member(hello.worker, "name");
  hello.version = optional_string(hello.worker, "version");
  hello.backend = string_member(hello.worker, "backend");
  for (const json& entry : list_member(answer, "devices")) {
    if (!entry.is_object()) wrong("devices", "a list of objects", entry);
    hello.devices.push_back({string_member(entry, "id"), string_member(entry, "backend"),
                             optional_string(entry, "name"), entry.value("threads", json()),
                             optional_boolean(entry, "transfers")});
  }
  for (const json& entry : list_member(answer, "cases")) hello.cases.push_back(parse_case(entry));
  return hello;
}

json parse_device(const json& answer) {
  const json& device = object_member(answer, "device");
  std::ignore = string_member(device, "id");
  std::ignore = object_member(device, "facts");
  std::ignore = list_member(device, "peaks");
  return device;
}

resolve_answer parse_resolve(const json& answer) {
  resolve_answer resolved;
  resolved.shape = object_member(answer, "shape");
  resolved.parameters = answer.value("parameters", json::object());
  if (!resolved.parameters.is_object()) wrong("parameters", "an object", resolved.parameters);
  resolved.model = answer.value("model", json());
  if (!resolved.model.is_null() && !resolved.model.is_object()) wrong("model", "an object or null", resolved.model);
  if (resolved.model.is_object()) {
    for (const char* name : {"bytes", "flops", "elements"}) std::ignore = optional_non_negative(resolved.model, name);
  }
  resolved.bytes_per_array = optional_non_negative(answer, "bytes_per_array");
  resolved.footprint_bytes = optional_non_negative(answer, "footprint_bytes").value_or(0);
  return resolved;
}

prepare_answer parse_prepare(const json& answer) {
  prepare_answer prepared;
  const json& id = member(answer, "case");
  if (!id.is_number_integer()) wrong("case", "a whole number", id);
  prepared.case_id = id.get<std::int64_t>();
  prepared.implementation = string_member(answer, "implementation");
  prepared.copies = optional_non_negative(answer, "copies").value_or(1);
  prepared.footprint_bytes = optional_non_negative(answer, "footprint_bytes").value_or(0);
  prepared.clock = string_member(answer, "clock");
  if (prepared.clock != "wall" && prepared.clock != "device") wrong("clock", "'wall' or 'device'", answer.at("clock"));
  const json unit = answer.value("unit", json());
  if (!unit.is_null() && unit != "vector" && unit != "tensor") wrong("unit", "'vector', 'tensor' or null", unit);
  if (unit.is_string()) prepared.unit = unit.get<std::string>();
  prepared.dispatch = optional_string(answer, "dispatch");
  return prepared;
}

verify_answer parse_verify(const json& answer) {
  verify_answer verification;
  const json& verified = member(answer, "verified");
  if (!verified.is_boolean()) wrong("verified", "true or false", verified);
  verification.verified = verified.get<bool>();
  verification.error = optional_non_negative(answer, "error");
  verification.error_bound = optional_non_negative(answer, "error_bound");
  verification.checked = optional_non_negative(answer, "checked");
  verification.method = optional_string(answer, "method");
  verification.message = optional_string(answer, "message");
  const bool within =
      verification.error && verification.error_bound && *verification.error <= *verification.error_bound;
  if (verification.verified && !within) {
    throw protocol_error(fmt::format("it says verified, but the error {} is not within the bound {}",
                                     excerpt(answer.value("error", json())),
                                     excerpt(answer.value("error_bound", json()))));
  }
  return verification;
}

json parse_count(const json& answer) {
  const json& counted = member(answer, "counted");
  if (counted.is_null()) return counted;
  if (!counted.is_object()) wrong("counted", "an object or null", counted);
  if (!optional_non_negative(counted, "total")) wrong("total", "a number", member(counted, "total"));
  std::ignore = string_member(counted, "source");
  for (const auto& [kind, value] : counted.items()) {
    if (kind != "source") std::ignore = optional_non_negative(counted, kind.c_str());
  }
  return counted;
}

sample_answer parse_sample(const json& answer) {
  sample_answer sample;
  sample.samples = times(answer, "samples", false);
  if (sample.samples.empty()) wrong("samples", "a list of at least one time", answer.at("samples"));
  if (answer.contains("wall") && !answer.at("wall").is_null()) sample.wall = times(answer, "wall", false);
  if (answer.contains("transfer") && !answer.at("transfer").is_null()) {
    const json& transfer = object_member(answer, "transfer");
    sample.transfer =
        transfer_answer{times(transfer, "h2d", true), times(transfer, "d2h", true),
                        optional_non_negative(transfer, "h2d_bytes"), optional_non_negative(transfer, "d2h_bytes")};
  }
  sample.batch = std::max(1.0, optional_non_negative(answer, "batch").value_or(1));
  sample.clock_mhz = optional_non_negative(answer, "clock_mhz");
  sample.energy_j = optional_non_negative(answer, "energy_j");
  sample.temperature_c = optional_number(answer, "temperature_c");
  sample.throttle = optional_strings(answer, "throttle");
  return sample;
}

}  // namespace prumo::bench
