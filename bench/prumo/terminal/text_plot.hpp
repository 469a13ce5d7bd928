// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "terminal/text.hpp"

#include <string>
#include <vector>

namespace prumo::bench {

/// A point of a plot; both numbers must be finite and above zero, others are left out.
struct plot_point {
  double x = 0;
  double y = 0;
};

/// Points of one colour and mark.
struct plot_series {
  std::string label;
  std::vector<plot_point> points;  ///< in the order in which they are joined
  bool joined = true;              ///< a line between neighbours
};

/// What stands around a plot.
struct plot_frame {
  std::string x_title;
  std::string y_title;
  std::string (*x_text)(double value) = nullptr;  ///< how a number of the axis reads; null: three digits
  std::string (*y_text)(double value) = nullptr;
  int height = 16;  ///< lines of the field, without axis and legend
};

/// A plot in characters with logarithmic axes: a mark a series, dots between joined points, a legend below. No line is
/// wider than the style's width; ASCII alone where the style has no Unicode. Empty where no point can be shown.
[[nodiscard]] std::string log_log_plot(const std::vector<plot_series>& series, const plot_frame& frame,
                                       const text_style& style);

/// True where a plot is of use by itself: standard output is a terminal.
[[nodiscard]] bool is_plot_wanted();

}  // namespace prumo::bench
