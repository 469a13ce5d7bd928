// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/results_schema.hpp"

#include "results/results_file.hpp"
#include "sample_results.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;
using testing::sample_document;

std::string describe(const std::vector<schema_violation>& violations) {
  std::string text;
  for (const schema_violation& violation : violations) text += violation.path + ": " + violation.message + "\n";
  return text;
}

/// Objects whose fields are free, and fields that may be absent.
bool is_free(const json::json_pointer& pointer) {
  const std::string path = pointer.to_string();
  for (const char* open : {"/run/versions", "/run/host", "/run/cpu", "/run/memory", "/run/power", "/run/environment",
                           "/devices/0/facts"}) {
    if (path.rfind(std::string(open) + "/", 0) == 0) return true;
  }
  for (const char* open :
       {"/shape/", "/parameters/", "/counted/add", "/counted/fma", "/hardware/reason", "/roof", "/temperature_c"}) {
    if (path.find(open) != std::string::npos) return true;
  }
  return false;
}

/// Fields that came to the format later.
bool may_be_missing(const json::json_pointer& pointer) {
  const std::string path = pointer.to_string();
  if (!path.starts_with("/results/")) return false;
  return std::ranges::any_of(std::array{"/threads", "/dispatch", "/verification", "/counted_implementation", "/run_id",
                                        "/measured", "/interval"},
                             [&](const char* later) { return path.ends_with(later); });
}

/// Every field of every object, by path.
void collect_fields(const json& value, const json::json_pointer& where, std::vector<json::json_pointer>& fields) {
  if (value.is_object()) {
    for (const auto& [name, child] : value.items()) {
      fields.push_back(where / name);
      collect_fields(child, where / name, fields);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) collect_fields(value[i], where / i, fields);
  }
}

std::vector<json::json_pointer> fields_of(const json& document) {
  std::vector<json::json_pointer> fields;
  collect_fields(document, json::json_pointer(), fields);
  return fields;
}

TEST(results_schema, accepts_what_prumo_writes) {
  EXPECT_EQ(describe(validate_results(sample_document())), "");
  EXPECT_EQ(describe(validate_results(testing::document_of({}))), "");
  const json document = sample_document();
  for (const json& result : document["results"]) EXPECT_EQ(describe(validate_result(result)), "");
}

TEST(results_schema, accepts_unknown_values_and_fields_of_the_future) {
  json document = sample_document();
  document["future"] = 1;
  document["results"][0]["future"] = {{"nested", true}};
  document["devices"][0]["facts"]["anything"] = {1, "two", nullptr};
  json& result = document["results"][0];
  for (const char* field : {"wall_s", "bytes", "bound", "clock_mhz", "energy_j", "error", "error_bound", "verified",
                            "bytes_per_array", "transfer", "implementation"}) {
    result[field] = nullptr;
  }
  result["rates"] = {{"gflops", nullptr}, {"gbytes", nullptr}, {"gelements", nullptr}};
  EXPECT_EQ(describe(validate_results(document)), "");
}

TEST(results_schema, accepts_every_type_in_results_and_peaks) {
  const auto refusals_of = [](const char* type) {
    json document = sample_document();
    document["results"][0]["dtype"] = type;
    document["devices"][0]["peaks"][0]["dtype"] = type;
    return validate_results(document);
  };
  for (const char* type : {"f32", "f64", "f16", "bf16", "f8_e4m3"}) EXPECT_EQ(describe(refusals_of(type)), "");
  for (const char* type : {"f8_", "f8_e4", "e4m3", "f8_e4m3fnuz"}) {
    const std::string refused = describe(refusals_of(type));
    EXPECT_NE(refused.find("/results/0/dtype"), std::string::npos) << type;
    EXPECT_NE(refused.find("/devices/0/peaks/0/dtype"), std::string::npos) << type;
  }
}

TEST(results_schema, refuses_a_missing_field) {
  const json document = sample_document();
  std::size_t removed = 0;
  for (const json::json_pointer& field : fields_of(document)) {
    if (is_free(field) || may_be_missing(field)) continue;
    json mutated = document;
    mutated[field.parent_pointer()].erase(field.back());
    EXPECT_FALSE(validate_results(mutated).empty()) << "accepted without " << field.to_string();
    ++removed;
  }
  EXPECT_GT(removed, 300u);
}

TEST(results_schema, refuses_another_type) {
  const json document = sample_document();
  for (const json::json_pointer& field : fields_of(document)) {
    if (is_free(field)) continue;
    const json& value = document[field];
    json mutated = document;
    // A list of lists is no value of any field; an object none of a list's.
    mutated[field] = value.is_array() ? json{{"wrong", 1}} : json{{json::array()}};
    EXPECT_FALSE(validate_results(mutated).empty()) << "accepted a list as " << field.to_string();
    if (value.is_null() || value.is_string()) continue;
    mutated[field] = "text";
    EXPECT_FALSE(validate_results(mutated).empty()) << "accepted a text as " << field.to_string();
  }
}

TEST(results_schema, refuses_values_that_cannot_be) {
  const auto refused = [](const char* pointer, const json& value) {
    json document = sample_document();
    document[json::json_pointer(pointer)] = value;
    const auto violations = validate_results(document);
    return violations.empty() ? std::string("accepted") : violations.front().path;
  };
  EXPECT_EQ(refused("/results/0/time_s/median", -1.0), "/results/0/time_s/median");
  EXPECT_EQ(refused("/results/0/time_s/median", 0), "/results/0/time_s/median");
  EXPECT_EQ(refused("/results/0/time_s/median", std::nan("")), "/results/0/time_s/median");
  EXPECT_EQ(refused("/results/0/bytes", std::numeric_limits<double>::infinity()), "/results/0/bytes");
  EXPECT_EQ(refused("/results/0/time_s/samples", json::array()), "/results/0/time_s/samples");
  EXPECT_EQ(refused("/results/0/shape/n", -4), "/results/0/shape");
  EXPECT_EQ(refused("/results/0/parameters/alpha", "one"), "/results/0/parameters");
  EXPECT_EQ(refused("/results/0/status", "good"), "/results/0/status");
  EXPECT_EQ(refused("/results/0/dtype", "float"), "/results/0/dtype");
  EXPECT_EQ(refused("/results/0/key", ""), "/results/0/key");
  EXPECT_EQ(refused("/run/started", "yesterday"), "/run/started");
  EXPECT_NE(refused("/results/0/reason", "but it ran"), "accepted");
  EXPECT_NE(refused("/results/0/time_s", nullptr), "accepted");
  EXPECT_NE(refused("/results/2/reason", nullptr), "accepted");
  EXPECT_NE(refused("/results/2/verified", true), "accepted");
}

TEST(results_schema, tells_of_a_blank_result_what_to_fill_in) {
  const auto violations = validate_result(blank_result());
  const std::string text = describe(violations);
  for (const char* field : {"/op", "/dtype", "/device", "/key"}) {
    EXPECT_NE(text.find(field), std::string::npos) << field << " in\n" << text;
  }
}

TEST(results_schema, stops_collecting_after_a_while) {
  json document = sample_document();
  json& results = document["results"];
  for (int i = 0; i < 1000; ++i) results.push_back(i);
  EXPECT_LE(validate_results(document).size(), 20u);
}

}  // namespace
}  // namespace prumo::bench
