// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message_fields.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prumo::protocol {
namespace detail {
namespace {

[[noreturn]] void refuse(const std::string& field, const std::string& expected, const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  throw message_error("the field '" + field + "' should be " + expected + " and is " + text);
}

/// A bound as people write it: 0, not 0.000000.
std::string bound_text(double bound) { return json(static_cast<std::int64_t>(bound)).dump(); }

void check_range(const std::string& field, double number, const field_rule& rule, const json& value) {
  const bool too_low = number < rule.lowest || (rule.above_lowest && number == rule.lowest);
  if (!too_low && number <= rule.highest) return;
  refuse(field,
         std::isfinite(rule.highest) ? "between " + bound_text(rule.lowest) + " and " + bound_text(rule.highest)
                                     : (rule.above_lowest ? "above " : "at least ") + bound_text(rule.lowest),
         value);
}

/// Reads the fields of one object; `path` stands in front of their names in messages.
class reader {
 public:
  reader(const json& object, std::string path) : object_(object), path_(std::move(path)) {}

  template <class Value>
  void required(const char* name, Value& member, const field_rule& rule = {}) const {
    const json* const value = find(name);
    if (value == nullptr) throw message_error("the field '" + path_ + name + "' is missing");
    read(path_ + name, *value, member, rule);
  }

  template <class Value>
  void optional(const char* name, Value& member, const field_rule& rule = {}) const {
    if (const json* const value = find(name)) read(path_ + name, *value, member, rule);
  }

  template <class Value>
  void omitted(const char* name, Value& member, const field_rule& rule = {}) const {
    optional(name, member, rule);
  }

  void either(const char* name, bool& member, const char* no, const char* yes) const {
    std::string text = member ? yes : no;
    optional(name, text, member ? one_of({yes, no}) : one_of({no, yes}));
    member = text == yes;
  }

  template <class List>
  void nested(const char* name, List list_inner) const {
    const json* const value = find(name);
    if (value == nullptr) throw message_error("the field '" + path_ + name + "' is missing");
    if (!value->is_object()) refuse(path_ + name, "an object", *value);
    const reader inner(*value, path_ + name + ".");
    list_inner(inner);
  }

  template <class List>
  void nested_or_null(const char* name, bool, List list_inner) const {
    if (!object_.contains(name)) throw message_error("the field '" + path_ + name + "' is missing");
    if (find(name) != nullptr) nested(name, list_inner);
  }

  void every_other(std::string_view known, std::vector<std::pair<std::string, std::uint64_t>>& members) const {
    for (const auto& [name, value] : object_.items()) {
      if (name != known) read(path_ + name, value, members.emplace_back(name, 0).second, at_least(0));
    }
  }

 private:
  /// The member, or null where it is absent or null itself.
  [[nodiscard]] const json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  static void read(const std::string& field, const json& value, std::string& member, const field_rule& rule) {
    if (!value.is_string() || (rule.filled && value.get_ref<const std::string&>().empty())) {
      refuse(field, "a text", value);
    }
    member = value.get<std::string>();
    if (rule.choices.empty()) return;
    std::string known;
    for (const std::string& choice : rule.choices) {
      if (member == choice) return;
      known += (known.empty() ? "'" : " or '") + choice + "'";
    }
    refuse(field, known, value);
  }

  static void read(const std::string& field, const json& value, bool& member, const field_rule&) {
    if (!value.is_boolean()) refuse(field, "true or false", value);
    member = value.get<bool>();
  }

  static void read(const std::string& field, const json& value, double& member, const field_rule& rule) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(field, "a number", value);
    member = value.get<double>();
    check_range(field, member, rule, value);
  }

  /// Whole numbers may come as 5 or 5.0, but not beyond what both sides hold exactly.
  template <std::integral Whole>
    requires(!std::same_as<Whole, bool>)
  static void read(const std::string& field, const json& value, Whole& member, const field_rule& rule) {
    constexpr auto limits = std::numeric_limits<Whole>();
    if (!value.is_number()) refuse(field, "a whole number", value);
    if (value.is_number_float()) {
      const double number = value.get<double>();
      if (!(std::fabs(number) < 0x1p53) || number != std::trunc(number)) refuse(field, "a whole number", value);
      check_range(field, number, rule, value);
      if (!std::in_range<Whole>(static_cast<std::int64_t>(number))) refuse(field, "a smaller number", value);
      member = static_cast<Whole>(number);
      return;
    }
    check_range(field, value.get<double>(), rule, value);
    const bool fits = value.is_number_unsigned() ? std::in_range<Whole>(value.get<std::uint64_t>())
                                                 : std::in_range<Whole>(value.get<std::int64_t>());
    if (!fits) refuse(field, "below 2^" + std::to_string(limits.digits), value);
    member = value.get<Whole>();
  }

  /// Any JSON, of which only the kind is looked at.
  static void read(const std::string& field, const json& value, json& member, const field_rule& rule) {
    if (rule.list ? !value.is_array() : !value.is_object()) refuse(field, rule.list ? "a list" : "an object", value);
    member = value;
  }

  template <class Value>
  static void read(const std::string& field, const json& value, std::optional<Value>& member, const field_rule& rule) {
    read(field, value, member.emplace(), rule);
  }

  template <class Value>
  static void read(const std::string& field, const json& value, std::vector<Value>& members, const field_rule& rule) {
    if (!value.is_array()) refuse(field, "a list", value);
    if (rule.filled && value.empty()) refuse(field, "a list that is not empty", value);
    members.clear();
    members.reserve(value.size());
    field_rule of_entry = rule;
    of_entry.filled = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      read(field + "[" + std::to_string(i) + "]", value[i], members.emplace_back(), of_entry);
    }
  }

  /// An object of values by name.
  template <class Value>
  static void read(const std::string& field, const json& value, std::vector<std::pair<std::string, Value>>& members,
                   const field_rule& rule) {
    if (!value.is_object()) refuse(field, "an object", value);
    members.clear();
    for (const auto& [name, entry] : value.items()) {
      read(field + "." + name, entry, members.emplace_back(name, Value{}).second, rule);
    }
  }

  template <class Message>
    requires std::is_class_v<Message>
  static void read(const std::string& field, const json& value, Message& message, const field_rule&) {
    if (!value.is_object()) refuse(field, "an object", value);
    const reader inner(value, field + ".");
    list_fields(inner, message);
  }

  const json& object_;
  std::string path_;
};

}  // namespace
}  // namespace detail

template <class Message>
Message read_message(const json& fields) {
  Message message;
  const detail::reader from(fields, "");
  detail::list_fields(from, message);
  return message;
}

#define PRUMO_INSTANTIATE_READING(MESSAGE, NAME) template MESSAGE read_message<MESSAGE>(const json&);
PRUMO_FOR_EACH_MESSAGE(PRUMO_INSTANTIATE_READING)
#undef PRUMO_INSTANTIATE_READING

}  // namespace prumo::protocol
