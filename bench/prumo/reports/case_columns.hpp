// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text_table.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace prumo::bench {

/// The columns of a table that tell its cases apart: size, shape, device, threads, type, layout, compute mode, place of
/// the data, cache state, dispatch, implementation and parameters.
class case_columns {
 public:
  /// \param results the table's results, and others of its run whose parameters count as well
  /// \param leave_out titles of columns that the table shows by itself
  explicit case_columns(std::span<const nlohmann::json* const> results, std::set<std::string> leave_out = {});

  void add_columns(std::vector<text_table::column>& columns) const;
  void add_cells(const nlohmann::json& result, std::vector<text_table::cell>& cells) const;

  /// The operation with the parameters that are the same in all its results: `gemm (alpha=1 beta=0)`.
  [[nodiscard]] std::string heading(const nlohmann::json& result) const;

 private:
  /// Those parameters of a result that differ among its operation's, or those that do not.
  [[nodiscard]] std::string parameters(const nlohmann::json& result, bool differing) const;

  std::map<std::string, std::set<std::string>> varied_;  ///< names of parameters by operation
  std::set<std::string> leave_out_;
};

/// Pointers to results in the order of tables: operations as they first appear, sizes ascending within.
[[nodiscard]] std::vector<const nlohmann::json*> in_table_order(std::vector<const nlohmann::json*> results);

}  // namespace prumo::bench
