// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>

#include <cmath>

namespace prumo::protocol {
namespace {

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

/// Whole numbers as such, so that `alpha` is 1 and not 1.0.
json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  const bool whole = std::fabs(value) < 0x1p53 && value == std::trunc(value);
  return whole ? json(static_cast<std::int64_t>(value)) : json(value);
}

json to_json(const named_number& described) {
  json entry = {{"name", described.name}, {"description", described.description}};
  if (described.fallback) entry["default"] = number(*described.fallback);
  return entry;
}

json to_json(const std::vector<named_number>& described) {
  json list = json::array();
  for (const named_number& it : described) list.push_back(to_json(it));
  return list;
}

json to_json(const case_description& described) {
  json fields = {{"op", described.op},
                 {"kind", described.kind},
                 {"description", described.description},
                 {"default", described.in_default_sweep},
                 {"dtypes", described.dtypes},
                 {"layouts", described.layouts},
                 {"axes", to_json(described.axes)},
                 {"parameters", to_json(described.parameters)},
                 {"implementations", described.implementations},
                 {"compute_modes", described.compute_modes},
                 {"arrays", described.arrays}};
  for (const auto& [dtype, why] : described.missing_dtypes) fields["missing_dtypes"][dtype] = why;
  return fields;
}

json to_json(const device_summary& device) {
  return {{"id", device.id},
          {"backend", device.backend},
          {"name", device.name.empty() ? json() : json(device.name)},
          {"threads", or_null(device.threads)},
          {"transfers", or_null(device.transfers)}};
}

}  // namespace

const char* error_kind_name(error_kind kind) {
  switch (kind) {
    case error_kind::usage: return "usage";
    case error_kind::unsupported: return "unsupported";
    case error_kind::skipped: return "skipped";
    case error_kind::memory: return "memory";
    case error_kind::device: return "device";
    case error_kind::failed: break;
  }
  return "failed";
}

json to_json(const hello_answer& answer) {
  json devices = json::array();
  for (const device_summary& device : answer.devices) devices.push_back(to_json(device));
  json cases = json::array();
  for (const case_description& described : answer.cases) cases.push_back(to_json(described));
  const worker_description& worker = answer.worker;
  return {{"protocol", protocol_version},
          {"worker",
           {{"name", worker.name},
            {"version", worker.version},
            {"backend", worker.backend},
            {"versions", worker.versions},
            {"build", worker.build},
            {"environment", worker.environment},
            {"warnings", worker.warnings}}},
          {"devices", devices},
          {"cases", cases}};
}

json to_json(const device_answer& answer) {
  json device = to_json(answer.device);
  device["facts"] = answer.facts;
  device["peaks"] = answer.peaks;
  return {{"device", device}};
}

json to_json(const resolve_answer& answer) {
  json shape = json::object();
  for (const auto& [axis, extent] : answer.shape) shape[axis] = extent;
  json parameters = json::object();
  for (const auto& [name, value] : answer.parameters) parameters[name] = number(value);
  return {{"shape", shape},
          {"bytes_per_array", answer.bytes_per_array},
          {"footprint_bytes", answer.footprint_bytes},
          {"parameters", parameters},
          {"model",
           {{"bytes", number(answer.model.bytes)},
            {"flops", number(answer.model.flops)},
            {"elements", number(answer.model.elements)},
            {"unit", answer.model.unit}}}};
}

json to_json(const prepare_answer& answer) {
  return {{"case", answer.case_id},     {"implementation", answer.implementation},
          {"copies", answer.copies},    {"footprint_bytes", answer.footprint_bytes},
          {"clock", answer.clock},      {"unit", answer.unit ? json(*answer.unit) : json()},
          {"dispatch", answer.dispatch}};
}

json to_json(const verify_answer& answer) {
  const auto finite = [](double value) { return std::isfinite(value) ? json(value) : json(); };
  return {{"verified", answer.verified}, {"error", finite(answer.error)}, {"error_bound", finite(answer.error_bound)},
          {"checked", answer.checked},   {"method", answer.method},       {"message", answer.message}};
}

json to_json(const count_answer& answer) {
  if (answer.kinds.empty()) return {{"counted", nullptr}};
  json counted = json::object();
  for (const auto& [kind, count] : answer.kinds) counted[kind] = count;
  counted["source"] = answer.source;
  return {{"counted", counted}};
}

json to_json(const sample_answer& answer) {
  json transfer;
  if (answer.transfer) {
    transfer = {{"h2d", answer.transfer->h2d},
                {"d2h", answer.transfer->d2h},
                {"h2d_bytes", answer.transfer->h2d_bytes},
                {"d2h_bytes", answer.transfer->d2h_bytes}};
  }
  return {{"samples", answer.samples},
          {"wall", answer.wall},
          {"batch", answer.batch},
          {"transfer", transfer},
          {"clock_mhz", or_null(answer.clock_mhz)},
          {"energy_j", or_null(answer.energy_j)},
          {"temperature_c", or_null(answer.temperature_c)},
          {"throttle", answer.throttle}};
}

}  // namespace prumo::protocol
