// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/text_plot.hpp"

#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace prumo::bench {
namespace {

constexpr std::array<std::string_view, 8> marks{"●", "■", "▲", "◆", "○", "□", "△", "◇"};
constexpr std::array<std::string_view, 8> ascii_marks{"*", "#", "^", "@", "o", "%", "+", "x"};
/// ANSI colours of the marks; black and white depend on the terminal's background.
constexpr std::array<int, 6> colors{36, 33, 32, 35, 31, 34};

/// A logarithmic axis over cells.
class log_axis {
 public:
  void include(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }
  [[nodiscard]] bool is_empty() const { return low_ > high_; }
  /// A single value gets room on both sides.
  void spread() {
    if (high_ / low_ > 1.0001) return;
    low_ /= 2;
    high_ *= 2;
  }
  [[nodiscard]] double cell_of(double value, int cells) const {
    return (cells - 1) * std::log(value / low_) / std::log(high_ / low_);
  }
  [[nodiscard]] double value_at(double cell, int cells) const {
    return low_ * std::pow(high_ / low_, cell / (cells - 1));
  }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = 0;
};

bool can_be_shown(const plot_point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x > 0 && point.y > 0;
}

std::string number_text(double value) { return format_significant(value, 3); }

/// Characters of the field: which series has a cell, and whether it is one of its points.
class field_of_cells {
 public:
  field_of_cells(int width, int height) : width_(width), height_(height) {
    cells_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  }

  void put(double column, double row_from_below, std::size_t series, bool is_point) {
    const int x = std::clamp(static_cast<int>(std::lround(column)), 0, width_ - 1);
    const int y = height_ - 1 - std::clamp(static_cast<int>(std::lround(row_from_below)), 0, height_ - 1);
    cell& target = at(x, y);
    if (target.series && (target.is_point || !is_point)) return;
    target = {series, is_point};
  }

  /// A dot in each column, or in each row where the line is steep.
  void join(double x0, double y0, double x1, double y1, std::size_t series) {
    const double steps = std::max(std::abs(x1 - x0), std::abs(y1 - y0));
    for (double step = 1; step < steps; ++step) {
      const double part = step / steps;
      put(x0 + part * (x1 - x0), y0 + part * (y1 - y0), series, false);
    }
  }

  [[nodiscard]] std::string line(int y, const text_style& style) const {
    std::string text;
    std::size_t blanks = 0;
    for (int x = 0; x < width_; ++x) {
      const cell& here =
          cells_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
      if (!here.series) {
        ++blanks;
        continue;
      }
      text.append(blanks, ' ');
      blanks = 0;
      text += mark_of(*here.series, here.is_point, style);
    }
    return text;
  }

  static std::string mark_of(std::size_t series, bool is_point, const text_style& style) {
    const std::string_view mark = !is_point       ? (style.unicode ? "·" : ".")
                                  : style.unicode ? marks[series % marks.size()]
                                                  : ascii_marks[series % ascii_marks.size()];
    if (!style.color) return std::string(mark);
    return fmt::format("\x1b[{}m{}\x1b[0m", colors[series % colors.size()], mark);
  }

 private:
  struct cell {
    std::optional<std::size_t> series;
    bool is_point = false;
  };
  cell& at(int x, int y) {
    return cells_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
  }

  int width_;
  int height_;
  std::vector<cell> cells_;
};

/// Numbers below the axis, each beginning at its column where there is room.
std::string ticks_line(const log_axis& axis, int width, std::string (*text)(double), const text_style& style) {
  constexpr int distance = 16;  // columns
  std::string line;
  for (int x = 0; x < width; x += distance) {
    const std::string tick = with_micro(text(axis.value_at(x, width)), style);
    if (x + static_cast<int>(display_width(tick)) > width) break;
    line.append(static_cast<std::size_t>(x) - std::min(static_cast<std::size_t>(x), display_width(line)), ' ');
    line += tick;
  }
  return line;
}

/// The marks and labels below a plot, on as many lines as they need.
std::string legend_of(const std::vector<plot_series>& series, std::size_t margin, const text_style& style) {
  constexpr std::size_t gap = 3;   // blanks between entries
  constexpr std::size_t mark = 2;  // columns of a mark and the blank behind it
  const std::size_t width = std::max(static_cast<std::size_t>(style.width), margin + mark) - margin;
  std::string legend;
  std::size_t used = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].points.empty()) continue;
    const std::string label = fit(sanitize(series[i].label), width - mark, style.unicode);
    const std::size_t columns = mark + display_width(label);
    const bool starts_a_line = used == 0 || used + gap + columns > width;
    if (starts_a_line) {
      legend += (used == 0 ? "" : "\n") + std::string(margin, ' ');
      used = columns;
    } else {
      legend += std::string(gap, ' ');
      used += gap + columns;
    }
    legend += field_of_cells::mark_of(i, true, style) + ' ' + label;
  }
  return legend + '\n';
}

/// What stands beside the ticks of an axis, from above. Without a text of the axis' own, numbers have three digits, or
/// as many as it takes to tell neighbours apart.
std::vector<std::string> tick_texts(const std::vector<double>& ticks, std::string (*own)(double)) {
  constexpr int least_digits = 3, most_digits = 9;
  std::vector<std::string> texts(ticks.size());
  for (int digits = least_digits; digits <= most_digits; ++digits) {
    std::ranges::transform(ticks, texts.begin(), [&](double value) {
      return own != nullptr ? own(value) : format_significant(value, digits);
    });
    if (own != nullptr || std::ranges::adjacent_find(texts) == texts.end()) break;
  }
  return texts;
}

}  // namespace

bool is_plot_wanted() { return ::isatty(STDOUT_FILENO) == 1; }

std::string log_log_plot(const std::vector<plot_series>& series, const plot_frame& frame, const text_style& style) {
  log_axis across;
  log_axis up;
  for (const plot_series& it : series) {
    for (const plot_point& point : it.points) {
      if (!can_be_shown(point)) continue;
      across.include(point.x);
      up.include(point.y);
    }
  }
  if (across.is_empty()) return {};
  across.spread();
  up.spread();

  const auto x_text = frame.x_text != nullptr ? frame.x_text : number_text;
  constexpr int lines_a_tick = 5;
  const int height = std::max(frame.height, 2);
  std::vector<double> ticks;
  for (int y = 0; y < height; y += lines_a_tick) ticks.push_back(up.value_at(height - 1 - y, height));
  std::vector<std::string> labels(static_cast<std::size_t>(height));
  std::size_t label_width = 0;
  std::size_t line_of_tick = 0;
  for (const std::string& text : tick_texts(ticks, frame.y_text)) {
    labels[line_of_tick] = with_micro(text, style);
    label_width = std::max(label_width, display_width(labels[line_of_tick]));
    line_of_tick += lines_a_tick;
  }
  const int width = std::max(style.width - static_cast<int>(label_width) - 3, 8);

  field_of_cells field(width, height);
  for (std::size_t i = 0; i < series.size(); ++i) {
    std::optional<plot_point> previous;  // in cells
    for (const plot_point& point : series[i].points) {
      if (!can_be_shown(point)) {
        previous.reset();
        continue;
      }
      const plot_point now{across.cell_of(point.x, width), up.cell_of(point.y, height)};
      field.put(now.x, now.y, i, true);
      if (previous && series[i].joined) field.join(previous->x, previous->y, now.x, now.y, i);
      previous = now;
    }
  }

  std::string out = fit(with_micro(frame.y_title, style), static_cast<std::size_t>(style.width), style.unicode) + '\n';
  for (int y = 0; y < height; ++y) {
    const std::string& label = labels[static_cast<std::size_t>(y)];
    std::string line = std::string(label_width - display_width(label), ' ') + label;
    line += label.empty() ? (style.unicode ? " │" : " |") : (style.unicode ? " ┤" : " +");
    out += line + field.line(y, style) + '\n';
  }
  const std::string margin(label_width + 2, ' ');
  out += margin + ticks_line(across, width, x_text, style) + '\n';
  out += margin + with_micro(frame.x_title, style) + '\n' + legend_of(series, label_width + 2, style);
  return out;
}

}  // namespace prumo::bench
