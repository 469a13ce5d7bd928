// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace prumo::bench {

/// A single updating line on standard error during long work; silent where standard error is no terminal (or
/// TERM is `dumb`). One thread uses it. Call clear() before any other output; the next update() draws it
/// again.
class progress {
 public:
  /// What one line tells.
  struct state {
    std::string what;       ///< what runs now
    std::size_t done = 0;   ///< cases finished
    std::size_t total = 0;  ///< cases planned; 0: not known
    double elapsed_seconds = 0;
    std::optional<double> remaining_seconds;  ///< where the caller knows better than done/total
  };

  /// `file_descriptor` is 2 but for tests.
  explicit progress(int file_descriptor = 2);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Work of `total` cases begins; the clock starts.
  void start(std::size_t total);

  /// Shows what runs now and how many cases are finished. Redraws at most ten times a second, at once when
  /// `what` or `done` changed. `remaining_seconds` overrides the estimate from done, total and elapsed time.
  void update(std::string_view what, std::size_t done, std::optional<double> remaining_seconds = std::nullopt);

  /// Removes the line from the terminal.
  void clear();

  /// True where lines are shown.
  [[nodiscard]] bool enabled() const { return enabled_; }

  /// The line for a state, `width` columns at most: `[12/40] add f32 2MiB openmp:0  15 s, 35 s left`.
  [[nodiscard]] static std::string line(const state& now, std::size_t width);

 private:
  int file_descriptor_;
  bool enabled_;
  bool shown_ = false;
  state now_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace prumo::bench
