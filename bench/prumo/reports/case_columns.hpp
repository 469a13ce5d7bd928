// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text_table.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// The columns of a table that tell its cases apart: size, shape, and of device, type, layout, mode, data, cache and
/// implementation those in which rows differ; what all rows share is said once above the table.
class case_columns {
 public:
  /// \param shown the results that the table will show
  /// \param all results whose parameters may differ; those that differ within an operation are shown
  /// \param leave_out titles of columns that the table shows by itself
  case_columns(std::span<const nlohmann::json* const> shown, std::span<const nlohmann::json* const> all,
               const std::set<std::string>& leave_out = {});

  /// `f32, right, strict, resident, cold`; empty where rows share nothing.
  [[nodiscard]] const std::string& common() const { return common_; }

  void add_columns(std::vector<text_table::column>& columns) const;
  void add_cells(const nlohmann::json& result, std::vector<text_table::cell>& cells) const;

  /// The parameters of a result that differ among its operation's: `alpha=2 trans_a=1`.
  [[nodiscard]] std::string parameters(const nlohmann::json& result) const;

 private:
  std::vector<std::size_t> modes_;
  std::string common_;
  std::map<std::string, std::set<std::string>> varied_;  // names of parameters by operation
};

/// Pointers to results in the order of tables: operations as they first appear, sizes ascending within.
[[nodiscard]] std::vector<const nlohmann::json*> in_table_order(std::vector<const nlohmann::json*> results);

}  // namespace prumo::bench
