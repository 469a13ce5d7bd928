// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/csv.hpp"

#include "sample_results.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Reads RFC 4180 as a strict reader would.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = rows.back().back();
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      rows.emplace_back(1);
    } else {
      field += c;
    }
  }
  rows.pop_back();
  return rows;
}

std::string field(const std::vector<std::vector<std::string>>& rows, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == column) return rows[row + 1].at(i);
  }
  return "no column " + column;
}

TEST(csv_field, quotes_only_where_it_must) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"no\""), "\"say \"\"no\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(csv_field, is_never_a_formula) {
  EXPECT_EQ(csv_field("=1+1"), "'=1+1");
  EXPECT_EQ(csv_field("+1"), "'+1");
  EXPECT_EQ(csv_field("-1"), "'-1");
  EXPECT_EQ(csv_field("@SUM(A1,B1)"), "\"'@SUM(A1,B1)\"");
  EXPECT_EQ(csv_field("\t=1"), "'\t=1");
  EXPECT_EQ(csv_field("a=1"), "a=1");
}

TEST(results_csv, has_a_line_a_result_with_all_columns) {
  const auto rows = parse_csv(results_csv(testing::sample_document()));
  ASSERT_EQ(rows.size(), 8u);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(field(rows, 0, "run_id"), "20261121T101500Z-4711");
  EXPECT_EQ(field(rows, 0, "device_name"), "Example CPU");
  EXPECT_EQ(field(rows, 0, "op"), "add");
  EXPECT_EQ(field(rows, 0, "shape"), "n=33554432");
  EXPECT_EQ(field(rows, 0, "time_median_s"), "0.0084");
  EXPECT_EQ(field(rows, 0, "samples"), "11");
  EXPECT_EQ(field(rows, 0, "verified"), "true");
  EXPECT_EQ(field(rows, 0, "flops_counted"), "33554432");
  EXPECT_EQ(field(rows, 0, "percent_peak_max_clock"), "") << "unknown is empty";
  EXPECT_EQ(field(rows, 2, "status"), "skipped");
  EXPECT_EQ(field(rows, 2, "reason"), "a host device has no transfers");
  EXPECT_EQ(field(rows, 2, "time_median_s"), "");
  EXPECT_EQ(field(rows, 4, "shape"), "k=2048 m=2048 n=2048");
  EXPECT_EQ(field(rows, 4, "flops_hardware"), "");
  EXPECT_EQ(field(rows, 5, "h2d_s"), "0.001");
  EXPECT_EQ(field(rows, 5, "warnings"), "IMPOSSIBLE: 104 % of the peak at the measured clock");
}

TEST(results_csv, survives_hostile_text) {
  json document = testing::sample_document();
  document["devices"][0]["name"] = "=cmd|' /C calc'!A0,\"\r\n\x80";
  document["results"][2]["reason"] = "a,\"b\"\r\n=c";
  const auto rows = parse_csv(results_csv(document));
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(field(rows, 0, "device_name"), "'=cmd|' /C calc'!A0,\"\r\n\\x80");
  EXPECT_EQ(field(rows, 2, "reason"), "a,\"b\"\r\n=c");
}

TEST(results_csv, of_no_results_is_the_header) {
  EXPECT_EQ(parse_csv(results_csv(testing::document_of({}))).size(), 1u);
}

}  // namespace
}  // namespace prumo::bench
