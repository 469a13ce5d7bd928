// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The fields of every message, each listed once. `fields` is a reader, a writer or a describer. Each call gives it the
/// name of a field, the member that holds the value, and the allowed values.
///
/// - required(): the field has to be there and must not be null.
/// - optional(): a field that is absent or null leaves the member as it is. A member that holds nothing is written as
///   null.
/// - omitted(): the same, but a member that holds nothing is not written.
/// - either(): a text out of two, which the member holds as `false` and `true`. Optional.
/// - nested() and nested_or_null(): an object whose fields the given function lists.
/// - every_other(): all fields of the object that have no name in the list.

#include <prumo/protocol/messages.hpp>

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace prumo::protocol::detail {

/// What a field allows beside its type.
struct field_rule {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool above_lowest = false;              ///< `lowest` itself is not allowed
  bool filled = false;                    ///< an empty text or list is not allowed
  bool list = false;                      ///< of a member of any JSON: a list instead of an object
  std::vector<std::string> choices = {};  ///< empty: any text
};

inline field_rule object() { return {}; }
inline field_rule list() { return {.list = true}; }

inline field_rule at_least(double lowest) { return {.lowest = lowest}; }
inline field_rule above(double lowest) { return {.lowest = lowest, .above_lowest = true}; }
inline field_rule between(double lowest, double highest) { return {.lowest = lowest, .highest = highest}; }
inline field_rule one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }
inline field_rule filled(field_rule rule = {}) {
  rule.filled = true;
  return rule;
}

template <class Type, class Message>
concept is = std::same_as<std::remove_const_t<Type>, Message>;

void list_fields(auto& fields, is<named_number> auto& it) {
  fields.required("name", it.name, filled());
  fields.optional("description", it.description);
  fields.omitted("default", it.fallback);
}

void list_fields(auto& fields, is<case_description> auto& it) {
  fields.required("op", it.op, filled());
  fields.required("kind", it.kind, filled());
  fields.optional("description", it.description);
  fields.optional("default", it.in_default_sweep);
  fields.required("dtypes", it.dtypes, filled());
  fields.omitted("missing_dtypes", it.missing_dtypes);
  fields.optional("layouts", it.layouts);
  fields.optional("axes", it.axes);
  fields.optional("parameters", it.parameters);
  fields.optional("implementations", it.implementations);
  fields.optional("compute_modes", it.compute_modes);
  fields.optional("arrays", it.arrays, at_least(0));
}

void list_fields(auto& fields, is<device_summary> auto& it) {
  fields.required("id", it.id, filled());
  fields.required("backend", it.backend, filled());
  fields.optional("name", it.name);
  fields.optional("threads", it.threads, at_least(0));
  fields.optional("transfers", it.transfers);
}

void list_fields(auto& fields, is<worker_description> auto& it) {
  fields.required("name", it.name, filled());
  fields.optional("version", it.version);
  fields.required("backend", it.backend, filled());
  fields.optional("versions", it.versions, object());
  fields.optional("build", it.build, object());
  fields.optional("environment", it.environment, object());
  fields.optional("warnings", it.warnings);
  fields.omitted("pid", it.pid);
}

void list_fields(auto& fields, is<workload_description> auto& it) {
  fields.required("workload", it.workload, filled());
  fields.required("dtypes", it.dtypes, filled());
  fields.optional("implementations", it.implementations);
  fields.optional("compute_modes", it.compute_modes);
}

void list_fields(auto& fields, is<hello_request> auto& it) {
  fields.optional("protocol", it.protocol, at_least(0));
  fields.optional("variables", it.variables);
}

void list_fields(auto& fields, is<hello_answer> auto& it) {
  fields.required("protocol", it.protocol, at_least(0));
  fields.omitted("features", it.features);
  fields.required("worker", it.worker);
  fields.required("devices", it.devices);
  fields.required("cases", it.cases);
  fields.omitted("workloads", it.workloads);
}

void list_fields(auto& fields, is<device_request> auto& it) {
  fields.required("device", it.device);
  fields.optional("clocks", it.clocks);
}

void list_fields(auto& fields, is<device_answer> auto& it) {
  fields.nested("device", [&](auto& inner) {
    list_fields(inner, it.device);
    inner.required("facts", it.facts, object());
    inner.required("peaks", it.peaks, list());
  });
}

void list_case_fields(auto& fields, auto& it) {
  fields.required("op", it.op);
  fields.required("dtype", it.dtype);
  fields.optional("shape", it.shape, at_least(0));
  fields.optional("layout", it.layout);
  fields.optional("parameters", it.parameters);
}

void list_fields(auto& fields, is<resolve_request> auto& it) {
  list_case_fields(fields, it);
  fields.optional("bytes_per_array", it.bytes_per_array, at_least(1));
}

void list_fields(auto& fields, is<cost_model> auto& it) {
  fields.optional("bytes", it.bytes, at_least(0));
  fields.optional("flops", it.flops, at_least(0));
  fields.optional("elements", it.elements, at_least(0));
  fields.optional("unit", it.unit);
}

void list_fields(auto& fields, is<resolve_answer> auto& it) {
  fields.required("shape", it.shape, at_least(0));
  fields.optional("bytes_per_array", it.bytes_per_array, at_least(0));
  fields.optional("footprint_bytes", it.footprint_bytes, at_least(0));
  fields.optional("parameters", it.parameters);
  fields.optional("model", it.model);
}

void list_fields(auto& fields, is<prepare_request> auto& it) {
  fields.required("device", it.device);
  list_case_fields(fields, it);
  fields.optional("compute_mode", it.compute_mode);
  fields.optional("seed", it.seed, at_least(0));
  fields.either("data", it.transferred, "resident", "transferred");
  fields.optional("host_memory", it.host_memory, one_of({"pinned", "pageable"}));
  fields.either("cache", it.cold, "hot", "cold");
  fields.either("dispatch", it.single_calls, "recorded", "single");
  fields.optional("implementation", it.implementation);
}

void list_fields(auto& fields, is<prepare_answer> auto& it) {
  fields.required("case", it.case_id);
  fields.required("implementation", it.implementation, filled());
  fields.optional("copies", it.copies, at_least(0));
  fields.optional("footprint_bytes", it.footprint_bytes, at_least(0));
  fields.required("clock", it.clock, one_of({"wall", "device"}));
  fields.optional("unit", it.unit, one_of({"vector", "tensor"}));
  fields.optional("dispatch", it.dispatch);
}

void list_fields(auto& fields, is<verify_request> auto& it) {
  fields.required("case", it.case_id, at_least(0));
  fields.optional("budget", it.budget, above(0));
}

void list_fields(auto& fields, is<verify_answer> auto& it) {
  fields.required("verified", it.verified);
  fields.optional("error", it.error, at_least(0));
  fields.optional("error_bound", it.error_bound, at_least(0));
  fields.optional("checked", it.checked, at_least(0));
  fields.optional("method", it.method);
  fields.optional("message", it.message);
  fields.optional("dispatch", it.dispatch);
}

void list_fields(auto& fields, is<count_request> auto& it) {
  list_case_fields(fields, it);
  fields.optional("limit", it.limit);
}

void list_fields(auto& fields, is<count_answer> auto& it) {
  fields.nested_or_null("counted", !it.kinds.empty(), [&](auto& inner) {
    inner.every_other("source", it.kinds);
    inner.required("source", it.source, filled());
  });
  fields.omitted("implementation", it.implementation, filled());
}

void list_fields(auto& fields, is<sample_request> auto& it) {
  constexpr double an_hour = 3600;
  fields.required("case", it.case_id, at_least(0));
  fields.required("seconds", it.seconds, between(0, an_hour));
}

void list_fields(auto& fields, is<transfer_times> auto& it) {
  fields.required("h2d", it.h2d, at_least(0));
  fields.required("d2h", it.d2h, at_least(0));
  fields.optional("h2d_bytes", it.h2d_bytes);
  fields.optional("d2h_bytes", it.d2h_bytes);
}

void list_fields(auto& fields, is<sample_answer> auto& it) {
  fields.required("samples", it.samples, filled(above(0)));
  fields.optional("wall", it.wall, above(0));
  fields.optional("batch", it.batch, at_least(1));
  fields.optional("transfer", it.transfer);
  fields.optional("clock_mhz", it.clock_mhz, at_least(0));
  fields.optional("energy_j", it.energy_j, at_least(0));
  fields.omitted("power_w", it.power_w, at_least(0));
  fields.optional("temperature_c", it.temperature_c);
  fields.optional("throttle", it.throttle);
}

void list_fields(auto& fields, is<release_request> auto& it) { fields.required("case", it.case_id, at_least(0)); }

}  // namespace prumo::protocol::detail

#include "net_message_fields.hpp"

/// All messages with their names in docs/protocol.schema.json.
#define PRUMO_FOR_EACH_MESSAGE(DO)         \
  DO(hello_request, "hello.request")       \
  DO(hello_answer, "hello.answer")         \
  DO(device_request, "device.request")     \
  DO(device_answer, "device.answer")       \
  DO(resolve_request, "resolve.request")   \
  DO(resolve_answer, "resolve.answer")     \
  DO(prepare_request, "prepare.request")   \
  DO(prepare_answer, "prepare.answer")     \
  DO(verify_request, "verify.request")     \
  DO(verify_answer, "verify.answer")       \
  DO(count_request, "count.request")       \
  DO(count_answer, "count.answer")         \
  DO(sample_request, "sample.request")     \
  DO(sample_answer, "sample.answer")       \
  DO(release_request, "release.request")   \
  DO(open_request, "open.request")         \
  DO(open_answer, "open.answer")           \
  DO(check_request, "check.request")       \
  DO(check_answer, "check.answer")         \
  DO(time_request, "time.request")         \
  DO(evaluate_request, "evaluate.request") \
  DO(evaluate_answer, "evaluate.answer")   \
  DO(advance_request, "advance.request")   \
  DO(advance_answer, "advance.answer")     \
  DO(save_request, "save.request")         \
  DO(save_answer, "save.answer")           \
  DO(load_request, "load.request")         \
  DO(load_answer, "load.answer")           \
  DO(close_request, "close.request")
