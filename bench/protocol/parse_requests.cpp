// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/protocol/messages.hpp>

#include <cmath>
#include <limits>
#include <string_view>

namespace prumo::protocol {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw request_error(error_kind::usage, message); }

std::string excerpt(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

[[noreturn]] void wrong(const std::string& field, std::string_view expected, const json& value) {
  refuse("the field '" + field + "' should be " + std::string(expected) + " and is " + excerpt(value));
}

/// The member, or null where it is absent or null itself.
const json* find(const json& object, const char* field) {
  const auto found = object.find(field);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const json& require(const json& object, const char* field) {
  if (const json* value = find(object, field)) return *value;
  refuse("the field '" + std::string(field) + "' is missing");
}

std::string text_of(const std::string& field, const json& value) {
  if (!value.is_string()) wrong(field, "a text", value);
  return value.get<std::string>();
}

double number_of(const std::string& field, const json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) wrong(field, "a number", value);
  return value.get<double>();
}

/// Whole numbers may come as 5 or 5.0, but not beyond what both sides hold exactly.
std::int64_t whole_number_of(const std::string& field, const json& value, std::int64_t lowest) {
  constexpr std::string_view expected = "a whole number";
  if (!value.is_number()) wrong(field, expected, value);
  std::int64_t whole = 0;
  if (value.is_number_unsigned()) {
    const auto positive = value.get<std::uint64_t>();
    if (positive > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      wrong(field, "below 2^63", value);
    }
    whole = static_cast<std::int64_t>(positive);
  } else if (value.is_number_integer()) {
    whole = value.get<std::int64_t>();
  } else {
    const double number = value.get<double>();
    if (!(std::fabs(number) < 0x1p53) || number != std::trunc(number)) wrong(field, expected, value);
    whole = static_cast<std::int64_t>(number);
  }
  if (whole < lowest) wrong(field, "at least " + std::to_string(lowest), value);
  return whole;
}

std::string one_of(const json& request, const char* field, const std::string& fallback,
                   std::initializer_list<std::string_view> allowed) {
  const json* value = find(request, field);
  if (value == nullptr) return fallback;
  const std::string text = text_of(field, *value);
  std::string known;
  for (const std::string_view it : allowed) {
    if (text == it) return text;
    known += (known.empty() ? "'" : " or '") + std::string(it) + "'";
  }
  wrong(field, known, *value);
}

void parse_case(const json& request, case_request& parsed) {
  parsed.op = text_of("op", require(request, "op"));
  parsed.dtype = text_of("dtype", require(request, "dtype"));
  if (const json* shape = find(request, "shape")) {
    if (!shape->is_object()) wrong("shape", "an object of extents by axis", *shape);
    for (const auto& [axis, extent] : shape->items()) {
      parsed.shape.emplace_back(axis, whole_number_of("shape." + axis, extent, 0));
    }
  }
  if (const json* parameters = find(request, "parameters")) {
    if (!parameters->is_object()) wrong("parameters", "an object of numbers by name", *parameters);
    for (const auto& [name, value] : parameters->items()) {
      parsed.parameters.emplace_back(name, number_of("parameters." + name, value));
    }
  }
  if (const json* layout = find(request, "layout")) parsed.layout = text_of("layout", *layout);
}

std::int64_t case_id_of(const json& request) { return whole_number_of("case", require(request, "case"), 0); }

}  // namespace

int parse_hello(const json& request) {
  const json* version = find(request, "protocol");
  return version == nullptr ? protocol_version : static_cast<int>(whole_number_of("protocol", *version, 0));
}

std::string parse_device(const json& request) { return text_of("device", require(request, "device")); }

std::int64_t parse_release(const json& request) { return case_id_of(request); }

resolve_request parse_resolve(const json& request) {
  resolve_request parsed;
  parse_case(request, parsed);
  if (const json* bytes = find(request, "bytes_per_array")) {
    parsed.bytes_per_array = whole_number_of("bytes_per_array", *bytes, 1);
  }
  return parsed;
}

prepare_request parse_prepare(const json& request) {
  prepare_request parsed;
  parse_case(request, parsed);
  parsed.device = text_of("device", require(request, "device"));
  if (const json* mode = find(request, "compute_mode")) parsed.compute_mode = text_of("compute_mode", *mode);
  if (const json* seed = find(request, "seed")) {
    if (!seed->is_number_unsigned()) {
      parsed.seed = static_cast<std::uint64_t>(whole_number_of("seed", *seed, 0));
    } else {
      parsed.seed = seed->get<std::uint64_t>();
    }
  }
  parsed.transferred = one_of(request, "data", "resident", {"resident", "transferred"}) == "transferred";
  const std::string host_memory = one_of(request, "host_memory", "", {"pinned", "pageable"});
  if (!host_memory.empty()) parsed.host_memory = host_memory;
  parsed.cold = one_of(request, "cache", "cold", {"cold", "hot"}) == "cold";
  parsed.single_calls = one_of(request, "dispatch", "recorded", {"recorded", "single"}) == "single";
  if (const json* name = find(request, "implementation")) parsed.implementation = text_of("implementation", *name);
  return parsed;
}

verify_request parse_verify(const json& request) {
  verify_request parsed{case_id_of(request), std::nullopt};
  if (const json* budget = find(request, "budget")) {
    parsed.budget = number_of("budget", *budget);
    if (*parsed.budget <= 0) wrong("budget", "above zero", *budget);
  }
  return parsed;
}

count_request parse_count(const json& request) {
  count_request parsed;
  parse_case(request, parsed);
  if (const json* limit = find(request, "limit")) parsed.limit = number_of("limit", *limit);
  return parsed;
}

sample_request parse_sample(const json& request) {
  sample_request parsed{case_id_of(request), number_of("seconds", require(request, "seconds"))};
  constexpr double an_hour = 3600;
  if (parsed.seconds < 0 || parsed.seconds > an_hour) wrong("seconds", "between 0 and 3600", request.at("seconds"));
  return parsed;
}

}  // namespace prumo::protocol
