// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message_fields.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::protocol {
namespace detail {
namespace {

/// Describes the fields of one object as JSON Schema.
class describer {
 public:
  template <class Value>
  void required(const char* name, const Value& member, const field_rule& rule = {}) {
    properties_[name] = describe(member, rule);
    required_.push_back(name);
  }

  template <class Value>
  void optional(const char* name, const Value& member, const field_rule& rule = {}) {
    properties_[name] = or_null(describe(member, rule));
  }

  template <class Value>
  void omitted(const char* name, const Value& member, const field_rule& rule = {}) {
    optional(name, member, rule);
  }

  void either(const char* name, bool member, const char* no, const char* yes) {
    optional(name, std::string(), member ? one_of({yes, no}) : one_of({no, yes}));
  }

  template <class List>
  void nested(const char* name, List list_inner) {
    describer inner;
    list_inner(inner);
    properties_[name] = inner.take();
    required_.push_back(name);
  }

  template <class List>
  void nested_or_null(const char* name, bool, List list_inner) {
    nested(name, list_inner);
    properties_[name] = or_null(properties_[name]);
  }

  void every_other(std::string_view, const std::vector<std::pair<std::string, std::uint64_t>>&) {
    others_ = describe(std::uint64_t{}, at_least(0));
  }

  /// The object's schema. Fields that it does not name are allowed, since a newer end may send them.
  [[nodiscard]] json take() {
    json schema = {{"type", "object"}};
    if (!required_.empty()) schema["required"] = std::move(required_);
    schema["properties"] = std::move(properties_);
    if (!others_.is_null()) schema["additionalProperties"] = std::move(others_);
    return schema;
  }

 private:
  static json or_null(json schema) {
    schema["type"] = json::array({schema["type"], "null"});
    if (schema.contains("enum")) schema["enum"].push_back(nullptr);
    return schema;
  }

  static json describe(const std::string&, const field_rule& rule) {
    json schema = {{"type", "string"}};
    if (rule.filled) schema["minLength"] = 1;
    if (!rule.choices.empty()) schema["enum"] = rule.choices;
    return schema;
  }

  static json describe(bool, const field_rule&) { return {{"type", "boolean"}}; }

  template <class Number>
    requires((std::integral<Number> || std::floating_point<Number>) && !std::same_as<Number, bool>)
  static json describe(Number, const field_rule& rule) {
    json schema = {{"type", std::integral<Number> ? "integer" : "number"}};
    const auto whole = [](double bound) { return static_cast<std::int64_t>(bound); };
    if (std::isfinite(rule.lowest)) schema[rule.above_lowest ? "exclusiveMinimum" : "minimum"] = whole(rule.lowest);
    if (std::isfinite(rule.highest)) schema["maximum"] = whole(rule.highest);
    return schema;
  }

  static json describe(const json&, const field_rule& rule) { return {{"type", rule.list ? "array" : "object"}}; }

  template <class Value>
  static json describe(const std::optional<Value>&, const field_rule& rule) {
    return describe(Value{}, rule);
  }

  template <class Value>
  static json describe(const std::vector<Value>&, const field_rule& rule) {
    field_rule of_entry = rule;
    of_entry.filled = false;
    json schema = {{"type", "array"}, {"items", describe(Value{}, of_entry)}};
    if (rule.filled) schema["minItems"] = 1;
    return schema;
  }

  template <class Value>
  static json describe(const std::vector<std::pair<std::string, Value>>&, const field_rule& rule) {
    return {{"type", "object"}, {"additionalProperties", describe(Value{}, rule)}};
  }

  template <class Message>
    requires std::is_class_v<Message>
  static json describe(const Message& message, const field_rule&) {
    describer inner;
    list_fields(inner, message);
    return inner.take();
  }

  json properties_ = json::object();
  json required_ = json::array();
  json others_;
};

template <class Message>
json schema_of() {
  describer message;
  const Message blank;
  list_fields(message, blank);
  return message.take();
}

}  // namespace
}  // namespace detail

json message_schema() {
  json messages = json::object();
#define PRUMO_DESCRIBE(MESSAGE, NAME) messages[NAME] = detail::schema_of<MESSAGE>();
  PRUMO_FOR_EACH_MESSAGE(PRUMO_DESCRIBE)
#undef PRUMO_DESCRIBE
  return {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "The fields of prumo's worker protocol (docs/protocol.md), beside `id`, `request`, `ok` and `error`"},
      {"$defs", std::move(messages)}};
}

}  // namespace prumo::protocol
