// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "judgement.hpp"
#include <prumo/protocol/messages.hpp>

#include <string>
#include <utility>
#include <vector>

namespace prumo::accuracy {

/// The findings about a function in a type.
struct finding {
  function which = function::exp;
  dtype type = dtype::f32;
  bool on_host = true;
  bool all_arguments = true;  ///< else a sample
  tally found;
  double seconds = 0;
  std::vector<std::pair<double, double>> specials;  ///< special arguments with their results

  /// The error that prumo bounds, in the unit of the bound.
  double error() const { return is_bounded_by_argument(which) ? found.epsilons : found.ulps; }
  bool is_kept() const { return found.wrong == 0 && error() <= promised(which, type, on_host); }
};

/// Special arguments of a type: NaN, infinities, zeros, the smallest and the largest numbers.
std::vector<double> special_arguments(dtype type);

/// The value that an argument's bits stand for.
double argument_value(dtype type, std::uint64_t bits);

/// A table in Markdown: a header, and a line for each finding.
std::string table_header();
std::string table_line(const finding& it);

/// The document that `-o` writes.
protocol::json document(const std::string& device, const std::vector<finding>& findings);

/// What `--list` prints: what prumo promises.
std::string promises(bool on_host);

}  // namespace prumo::accuracy
