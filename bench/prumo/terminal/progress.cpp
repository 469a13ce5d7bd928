// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/progress.hpp"

#include "terminal/text.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace prumo::bench {
namespace {

constexpr std::chrono::milliseconds least_between_draws{100};
constexpr std::string_view erase_line = "\r\x1b[K";

void write_text(int file_descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // progress is never worth an error
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

progress::progress(int file_descriptor)
    : file_descriptor_(file_descriptor),
      enabled_(is_capable_terminal(file_descriptor)),
      started_(std::chrono::steady_clock::now()),
      drawn_(started_) {}

progress::~progress() { clear(); }

void progress::start(std::size_t total) {
  started_ = std::chrono::steady_clock::now();
  now_ = {};
  now_.total = total;
}

void progress::update(std::string_view what, std::size_t done, std::optional<double> remaining_seconds) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool changed = what != now_.what || done != now_.done;
  if (shown_ && !changed && now - drawn_ < least_between_draws) return;
  now_.what = what;
  now_.done = done;
  now_.elapsed_seconds = std::chrono::duration<double>(now - started_).count();
  now_.remaining_seconds = remaining_seconds;
  // The width is asked for anew each time, so that a resized window needs no signal handler. The last column
  // stays free: some terminals begin a new line once it is filled.
  const auto width = static_cast<std::size_t>(terminal_width(file_descriptor_)) - 1;
  write_text(file_descriptor_, std::string(erase_line) + line(now_, width));
  shown_ = true;
  drawn_ = now;
}

void progress::clear() {
  if (!shown_) return;
  write_text(file_descriptor_, erase_line);
  shown_ = false;
}

std::string progress::line(const state& now, std::size_t width) {
  std::string left = now.total > 0 ? fmt::format("[{}/{}] ", std::min(now.done, now.total), now.total) : std::string();
  left += sanitize(now.what);
  std::string right = format_duration(now.elapsed_seconds);
  auto remaining = now.remaining_seconds;
  if (!remaining && now.done > 0 && now.total > 0) {
    const double left_over = static_cast<double>(now.total - std::min(now.done, now.total));
    remaining = now.elapsed_seconds / static_cast<double>(now.done) * left_over;
  }
  if (remaining && *remaining >= 0) right += fmt::format(", about {} left", format_duration(*remaining));
  if (right.size() + 12 > width) return fit(left, width);  // a narrow terminal: what runs matters most
  left = fit(left, width - right.size() - 2);
  return left + "  " + right;
}

}  // namespace prumo::bench
