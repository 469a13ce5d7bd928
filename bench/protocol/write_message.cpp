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

/// Writes the fields of one object.
class writer {
 public:
  template <class Value>
  void required(const char* name, const Value& member, const field_rule& = {}) {
    object_[name] = write(member);
  }

  template <class Value>
  void optional(const char* name, const Value& member, const field_rule& = {}) {
    object_[name] = write(member);
  }

  template <class Value>
  void omitted(const char* name, const Value& member, const field_rule& = {}) {
    json value = write(member);
    if (!value.is_null() && !(value.is_object() && value.empty())) object_[name] = std::move(value);
  }

  void either(const char* name, bool member, const char* no, const char* yes) { object_[name] = member ? yes : no; }

  template <class List>
  void nested(const char* name, List list_inner) {
    writer inner;
    list_inner(inner);
    object_[name] = std::move(inner.object_);
  }

  template <class List>
  void nested_or_null(const char* name, bool present, List list_inner) {
    object_[name] = nullptr;
    if (present) nested(name, list_inner);
  }

  void every_other(std::string_view, const std::vector<std::pair<std::string, std::uint64_t>>& members) {
    for (const auto& [name, value] : members) object_[name] = value;
  }

  [[nodiscard]] json take() { return std::move(object_); }

 private:
  static json write(const std::string& text) { return text.empty() ? json() : json(text); }
  static json write(const json& any) { return any; }

  template <std::integral Whole>
  static json write(Whole value) {
    return value;
  }

  /// Whole numbers as such, so that `alpha` is 1 and not 1.0.
  static json write(double value) {
    if (!std::isfinite(value)) return nullptr;
    const bool whole = std::fabs(value) < 0x1p53 && value == std::trunc(value);
    return whole ? json(static_cast<std::int64_t>(value)) : json(value);
  }

  template <class Value>
  static json write(const std::optional<Value>& value) {
    return value ? write(*value) : json();
  }

  template <class Value>
  static json write(const std::vector<Value>& values) {
    json list = json::array();
    for (const Value& value : values) list.push_back(write(value));
    return list;
  }

  template <class Value>
  static json write(const std::vector<std::pair<std::string, Value>>& values) {
    json object = json::object();
    for (const auto& [name, value] : values) object[name] = write(value);
    return object;
  }

  template <class Message>
    requires std::is_class_v<Message>
  static json write(const Message& message) {
    writer inner;
    list_fields(inner, message);
    return inner.take();
  }

  json object_ = json::object();
};

}  // namespace
}  // namespace detail

template <class Message>
json write_message(const Message& message) {
  detail::writer to;
  detail::list_fields(to, message);
  return to.take();
}

#define PRUMO_INSTANTIATE_WRITING(MESSAGE, NAME) template json write_message<MESSAGE>(const MESSAGE&);
PRUMO_FOR_EACH_MESSAGE(PRUMO_INSTANTIATE_WRITING)
#undef PRUMO_INSTANTIATE_WRITING

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

}  // namespace prumo::protocol
