// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// docs/results.md against the program.
#include "results/csv.hpp"
#include "results/results_file.hpp"
#include "sample_results.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace prumo::bench {
namespace {

std::string documentation() {
  std::ifstream file(PRUMO_RESULTS_DOCUMENT);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string text_between(const std::string& text, const std::string& first, const std::string& last) {
  const auto begin = text.find(first);
  if (begin == std::string::npos) return {};
  const auto start = begin + first.size();
  return text.substr(start, text.find(last, start) - start);
}

TEST(results_documentation, shows_a_valid_example) {
  const std::string example = text_between(documentation(), "```json\n", "```");
  ASSERT_FALSE(example.empty());
  const nlohmann::json document = parse_results(example, "the example");
  const nlohmann::json& result = document["results"][0];
  EXPECT_EQ(result["key"], result_key(result));
}

TEST(results_documentation, lists_the_columns_of_the_csv_in_their_order) {
  const std::string table = text_between(documentation(), "## CSV\n", "\nText that");
  std::string columns;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::istringstream names(text_between(line, "| ", " |"));
    for (std::string name; names >> name;) {  // `run_id`, `device_name`
      columns += (columns.empty() ? "" : ",") + text_between(name, "`", "`");
    }
  }
  EXPECT_EQ(columns + "\r\n", results_csv(testing::document_of({})));
}

TEST(results_documentation, names_every_field_of_a_result) {
  const std::string text = documentation();
  const nlohmann::json result = blank_result();
  for (const auto& [name, value] : result.items()) {
    const bool named =
        text.find('`' + name + '`') != std::string::npos || text.find('`' + name + '.') != std::string::npos;
    EXPECT_TRUE(named) << name;
  }
}

}  // namespace
}  // namespace prumo::bench
