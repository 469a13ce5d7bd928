// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/results_schema.hpp"

#include "terminal/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json-schema.hpp>

#include <cmath>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;
using nlohmann::json_schema::json_validator;

constexpr std::size_t most_violations = 20;  // nobody reads more, and a foreign file may have millions

class collector : public nlohmann::json_schema::basic_error_handler {
 public:
  void error(const json::json_pointer& where, const json& value, const std::string& message) override {
    basic_error_handler::error(where, value, message);
    if (violations_.size() >= most_violations) return;
    const std::string found =
        value.is_structured() ? value.type_name() : value.dump(-1, ' ', false, json::error_handler_t::replace);
    violations_.push_back({where.to_string(), fmt::format("{} (found {})", message, fit(sanitize(found), 60))});
  }
  std::vector<schema_violation> take() { return std::move(violations_); }

 private:
  std::vector<schema_violation> violations_;
};

/// JSON text has no infinities or NaN: the library would write null, or pass them by every limit of the
/// schema.
void find_not_finite(const json& value, const json::json_pointer& where, std::vector<schema_violation>& violations) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    if (violations.size() < most_violations) violations.push_back({where.to_string(), "is not a finite number"});
  } else if (value.is_structured()) {
    for (const auto& [name, child] : value.items()) {
      if (!child.is_structured() && !child.is_number_float()) continue;
      find_not_finite(child, value.is_array() ? where / std::stoul(name) : where / name, violations);
    }
  }
}

std::vector<schema_violation> validate(const json_validator& validator, const json& value) {
  collector errors;
  validator.validate(value, errors);
  std::vector<schema_violation> violations = errors.take();
  find_not_finite(value, json::json_pointer(), violations);
  return violations;
}

json_validator make_validator(const json& schema) {
  json_validator validator;
  validator.set_root_schema(schema);
  return validator;
}

}  // namespace

std::vector<schema_violation> validate_results(const json& document) {
  static const json_validator validator = make_validator(json::parse(results_schema_text()));
  return validate(validator, document);
}

std::vector<schema_violation> validate_result(const json& result) {
  static const json_validator validator = [] {
    const json schema = json::parse(results_schema_text());
    // Draft 7 ignores what stands beside a $ref, definitions too: the reference has to stand one level below.
    const json only_result = {{"$schema", schema.at("$schema")},
                              {"definitions", schema.at("definitions")},
                              {"allOf", json::array({{{"$ref", "#/definitions/result"}}})}};
    return make_validator(only_result);
  }();
  return validate(validator, result);
}

}  // namespace prumo::bench
