// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/worker_process.hpp"

#include "terminal/interrupt.hpp"
#include "terminal/standard_output.hpp"
#include "terminal/text.hpp"
#include "workers/started_child.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace prumo::bench {
namespace {

using std::chrono::milliseconds;

process_usage usage_of(const rusage& told) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
#if defined(__APPLE__)
  constexpr std::uint64_t unit = 1;
#else
  constexpr std::uint64_t unit = 1024;
#endif
  return {seconds(told.ru_utime), seconds(told.ru_stime), static_cast<std::uint64_t>(told.ru_maxrss) * unit};
}

std::string signal_words(int number) {
  switch (number) {
    case SIGKILL: return "signal 9 (SIGKILL), perhaps by the out-of-memory killer";
    case SIGSEGV: return fmt::format("signal {} (SIGSEGV, invalid memory access)", number);
    case SIGILL: return fmt::format("signal {} (SIGILL, an instruction that this processor lacks)", number);
    case SIGABRT: return fmt::format("signal {} (SIGABRT, it aborted)", number);
    case SIGBUS: return fmt::format("signal {} (SIGBUS, memory or a mapped file went away)", number);
    case SIGFPE: return fmt::format("signal {} (SIGFPE, invalid integer arithmetic)", number);
    case SIGTERM: return fmt::format("signal {} (SIGTERM, it was asked to end)", number);
    default: return fmt::format("signal {} ({})", number, ::strsignal(number));
  }
}

}  // namespace

worker_process::worker_process(std::vector<std::string> command, options how) : options_(how) {
  if (command.empty() || command.front().empty()) throw process_error("cannot start a worker: its command is empty");
  const started_child child = start_child(std::move(command), how.own_process_group);
  id_ = child.id;
  input_ = child.input;
  output_ = child.output;
  errors_ = child.errors;
  end_ = child.end;
}

worker_process::~worker_process() {
  stop(milliseconds(0));
  close_descriptor(output_);
  close_descriptor(errors_);
  close_descriptor(end_);
}

void worker_process::let_run() noexcept {
  if (std::exchange(held_, false)) signal_process(SIGCONT);
}

void worker_process::hold() noexcept {
  if (!options_.own_process_group) return;  // the terminal's shell would take it for a job that was suspended
  signal_process(SIGSTOP);
  held_ = true;
}

void worker_process::wait_for(int descriptor, short events, clock::time_point deadline) {
  auto left = std::clamp<long long>(std::chrono::ceil<milliseconds>(deadline - clock::now()).count(), 0, 1 << 30);
  constexpr long long between_looks = 50;  // where nothing tells the end of the process
  if (end_ < 0) left = std::min(left, between_looks);
  std::array<pollfd, 4> waits{
      {{descriptor, events, 0}, {errors_, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}, {end_, POLLIN, 0}}};
  if (::poll(waits.data(), waits.size(), static_cast<int>(left)) < 0 && errno != EINTR) {
    throw process_error(fmt::format("cannot be waited for: {}", std::strerror(errno)));
  }
  if (waits[1].revents != 0) read_errors();
}

bool worker_process::write_line(std::string_view line, clock::time_point deadline) {
  let_run();
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = input_ < 0 ? -1 : ::write(input_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (input_ >= 0 && errno == EINTR) continue;
    const bool full = input_ >= 0 && errno == EAGAIN;
    if (!full || try_reap()) {
      reap_within(milliseconds(2000));
      read_errors();
      throw process_error(describe_end());
    }
    throw_if_interrupted();
    if (clock::now() >= deadline) return false;
    wait_for(input_, POLLOUT, deadline);
  }
  return true;
}

std::optional<std::string> worker_process::take_line() {
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  scanned_ = 0;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::optional<std::string> worker_process::read_line(clock::time_point deadline) {
  for (bool late = false;;) {
    throw_if_interrupted();
    if (auto line = take_line()) {
      hold();
      return line;
    }
    if (late) return std::nullopt;  // what was there at the deadline has been read
    let_run();
    if (buffer_.size() > options_.line_limit) {
      throw process_error(fmt::format("sent a line of more than {} bytes", options_.line_limit));
    }
    late = clock::now() >= deadline;
    const bool ended = try_reap();  // before reading, so that what it wrote at last is read
    std::array<char, 65536> chunk;
    const ssize_t got = ::read(output_, chunk.data(), chunk.size());
    if (got > 0) {
      buffer_.append(chunk.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      reap_within(milliseconds(2000));
      read_errors();
      throw process_error(ended_ ? describe_end() : "closed its output, though it still ran");
    } else if (errno != EINTR && errno != EAGAIN) {
      throw process_error(fmt::format("cannot be read: {}", std::strerror(errno)));
    } else if (ended) {
      read_errors();
      throw process_error(describe_end());
    } else if (!late) {
      wait_for(output_, POLLIN, deadline);
    }
  }
}

/// Reads a part only of a flood, or whoever waits would not come back to its deadline.
void worker_process::read_errors() {
  std::array<char, 4096> chunk;
  constexpr int most_chunks = 16;  // what a pipe holds
  for (int i = 0; errors_ >= 0 && i < most_chunks; ++i) {
    const ssize_t got = ::read(errors_, chunk.data(), chunk.size());
    if (got > 0) {
      keep_error_text({chunk.data(), static_cast<std::size_t>(got)});
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0) {
        close_descriptor(errors_);
        if (!partial_error_.empty()) end_error_line();
      }
      return;
    }
  }
}

void worker_process::keep_error_text(std::string_view text) {
  constexpr std::size_t line_limit = 1000;
  for (const char character : text) {
    if (character == '\n') {
      end_error_line();
    } else if (partial_error_.size() < line_limit) {
      partial_error_ += character;
    }
  }
}

void worker_process::end_error_line() {
  if (options_.forward_errors) print_error(sanitize(partial_error_) + '\n');
  error_lines_.push_back(std::exchange(partial_error_, {}));
  if (error_lines_.size() > options_.kept_error_lines) error_lines_.pop_front();
}

bool worker_process::try_reap() noexcept {
  if (ended_ || id_ < 0) return true;
  int status = 0;
  rusage used{};
  const pid_t got = ::wait4(id_, &status, WNOHANG, &used);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  ended_ = true;
  wait_status_ = got == id_ ? status : 0;
  if (got == id_) usage_ = usage_of(used);
  return true;
}

void worker_process::reap_within(milliseconds limit) noexcept {
  const auto deadline = clock::now() + limit;
  auto pause = milliseconds(1);
  while (!try_reap() && clock::now() < deadline) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(20));
  }
}

void worker_process::signal_process(int number) const noexcept {
  if (ended_ || id_ <= 0) return;
  ::kill(options_.own_process_group ? -id_ : id_, number);
  ::kill(id_, number);
}

void worker_process::stop(milliseconds grace) noexcept {
  let_run();
  close_descriptor(input_);
  reap_within(grace);
  if (!ended_) {
    signal_process(SIGTERM);
    reap_within(milliseconds(300));
  }
  if (!ended_) {
    signal_process(SIGKILL);
    reap_within(milliseconds(5000));
  }
  // What the worker itself has started and left behind.
  if (options_.own_process_group && id_ > 0 && !std::exchange(group_ended_, true)) ::kill(-id_, SIGKILL);
}

bool worker_process::running() { return !try_reap(); }

std::string worker_process::describe_end() const {
  if (!ended_) return "still runs";
  if (WIFSIGNALED(wait_status_)) return "was killed by " + signal_words(WTERMSIG(wait_status_));
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status_));
}

std::optional<int> worker_process::exit_status() const {
  if (!ended_ || WIFSIGNALED(wait_status_)) return std::nullopt;
  return WEXITSTATUS(wait_status_);
}

}  // namespace prumo::bench
