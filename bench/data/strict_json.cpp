// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "strict_json.hpp"

#include <prumo/files/file_error.hpp>
#include <prumo/protocol/parse_json.hpp>

#include <set>
#include <vector>

namespace prumo::data {
namespace {

/// The words of the JSON library behind its own prefix: `parse error at line 1, column 2: ...`.
std::string reason_of(const json::exception& error) {
  const std::string text = error.what();
  const std::size_t prefix = text.find("] ");
  return prefix == std::string::npos ? text : text.substr(prefix + 2);
}

struct repeated_key {
  std::string key;
};

/// Remembers the keys of all open objects.
class key_watch {
 public:
  void see(json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start: open_.emplace_back(); break;
      case json::parse_event_t::object_end: open_.pop_back(); break;
      case json::parse_event_t::key:
        if (!open_.back().insert(parsed.get<std::string>()).second) throw repeated_key{parsed.get<std::string>()};
        break;
      default: break;
    }
  }

 private:
  std::vector<std::set<std::string>> open_;
};

}  // namespace

json parse_strict_json(std::string_view text, std::string_view name) {
  key_watch keys;
  try {
    return json::parse(text, [&](int depth, json::parse_event_t event, json& parsed) {
      if (depth > protocol::deepest_json) throw protocol::json_too_deep();
      keys.see(event, parsed);
      return true;
    });
  } catch (const json::exception& error) {
    bench::refuse_file(name, "is no valid JSON: " + reason_of(error) + "; mend it there");
  } catch (const protocol::json_too_deep& error) {
    bench::refuse_file(name, std::string("is ") + error.what() + "; make it flat");
  } catch (const repeated_key& twice) {
    bench::refuse_file(name, "names the key '" + twice.key + "' twice in one object; keep one of them");
  }
}

std::string shown(const json& value) {
  constexpr std::size_t most = 40;
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

}  // namespace prumo::data
