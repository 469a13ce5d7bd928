// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/worker_client.hpp"

#include "privacy/recorded_words.hpp"
#include "terminal/text.hpp"
#include "terminal/units.hpp"
#include <prumo/protocol/parse_json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

/// What helps where a worker and this program have too little in common.
constexpr std::string_view same_release = "use a worker and a prumo of the same release";

worker_process::clock::time_point after(double seconds) {
  return worker_process::clock::now() +
         std::chrono::duration_cast<worker_process::clock::duration>(std::chrono::duration<double>(seconds));
}

std::string quote(std::string_view line) {
  constexpr std::size_t longest = 160;
  const bool cut = line.size() > longest;
  return sanitize(line.substr(0, longest)) + (cut ? "..." : "");
}

}  // namespace

worker_launch worker_launch::behind(const std::vector<std::string>& words) const {
  worker_launch other = *this;
  other.command.insert(other.command.begin() + static_cast<std::ptrdiff_t>(launcher_words), words.begin(), words.end());
  return other;
}

std::string worker_client::called() const {
  const std::string text = fmt::format("worker '{}'", launch_.name);
  return launch_.threads ? fmt::format("{} with {}", text, format_threads(*launch_.threads)) : text;
}

void worker_client::fail(worker_failure::reason why, const std::string& what) {
  std::string message = fmt::format("{} {}", called(), what);
  std::string said;
  if (process_) {
    std::string last_words;
    const auto& lines = process_->error_lines();
    const std::size_t shown = std::min<std::size_t>(lines.size(), 3);
    for (std::size_t i = lines.size() - shown; i < lines.size(); ++i) {
      if (!last_words.empty()) last_words += " | ";
      last_words += quote(lines[i]);
    }
    if (!last_words.empty()) message += "; it last wrote: " + last_words;
    if (!lines.empty()) said = sanitize(lines.back());
  }
  process_.reset();
  greeted_ = false;
  throw worker_failure(why, message, said);
}

void worker_client::break_protocol(std::string_view name, const protocol::message_error& error) {
  fail(worker_failure::reason::lied, fmt::format("broke the protocol in its answer to '{}': {}", name, error.what()));
}

void worker_client::start() {
  ++generation_;
  greeted_ = false;
  worker_process::options how;
  how.own_process_group = launch_.launcher_words == 0;
  how.forward_errors = options_.forward_errors;
  process_ = std::make_unique<worker_process>(launch_.command, how);
  try {
    const protocol::hello_request hello{protocol::protocol_version, recorded_variable_names()};
    std::ignore = send("hello", protocol::write_message(hello), worker_process::clock::now());
  } catch (const process_error&) {
    // The end of its output, which greet() reads, says more.
  }
}

void worker_client::launch() {
  if (process_ || given_up()) return;
  try {
    start();
  } catch (const process_error&) {
    // greet() tries again and tells.
  }
}

const protocol::hello_answer& worker_client::greet() {
  if (greeted_ && process_) return *hello_;
  if (given_up()) {
    throw worker_failure(worker_failure::reason::cannot_start,
                         fmt::format("{} was given up after {} failed starts", called(), failed_starts_));
  }
  ++failed_starts_;  // until it has greeted
  try {
    if (!process_) start();
  } catch (const process_error& error) {
    fail(worker_failure::reason::cannot_start, error.what());
  }
  const double limit = options_.time_limit.value_or(patience);
  read_greeting(read_answer("hello", limit, after(limit)));
  greeted_ = true;
  failed_starts_ = 0;
  return *hello_;
}

void worker_client::read_greeting(const protocol::json& answer) {
  try {
    hello_ = protocol::read_message<protocol::hello_answer>(answer);
  } catch (const protocol::message_error& error) {
    const protocol::json version = answer.value("protocol", protocol::json());
    if (version.is_null() || version == protocol::protocol_version) break_protocol("hello", error);
    fail(worker_failure::reason::lied,
         fmt::format("speaks version {} of the worker protocol, and this prumo, which speaks version {}, cannot read "
                     "its greeting ({}): {}",
                     quote(version.dump()), protocol::protocol_version, error.what(), same_release));
  }
  std::vector<std::string>& warnings = hello_->worker.warnings;
  std::erase_if(hello_->cases, [&](const protocol::case_description& it) {
    if (it.kind == "op" || it.kind == "probe") return false;
    warnings.push_back(fmt::format("{} is left out: this prumo does not know cases of the kind '{}'", it.op, it.kind));
    return true;
  });
  if (!has("verify") && why_unmeasurable().empty()) {
    warnings.push_back("the worker has no request 'verify': its results are not compared with a reference");
  }
}

bool worker_client::has(std::string_view feature) const {
  // A worker of before there were features has all those of version 1.
  if (!hello_->features) {
    return hello_->protocol == protocol::protocol_version &&
           std::ranges::find(protocol::protocol_features, feature) != protocol::protocol_features.end();
  }
  return std::ranges::find(*hello_->features, feature) != hello_->features->end();
}

std::string worker_client::why_unmeasurable() const {
  std::vector<std::string_view> lacking;
  for (const std::string_view needed : {"resolve", "prepare", "sample", "release"}) {
    if (!has(needed)) lacking.push_back(needed);
  }
  return lacking.empty() ? std::string() : describe_lack(fmt::format("{}", fmt::join(lacking, ", ")));
}

std::string worker_client::describe_lack(std::string_view requests) const {
  return fmt::format("{} lacks {} of the worker protocol: {}", called(), requests, same_release);
}

bool worker_client::send(std::string_view name, const protocol::json& fields,
                         worker_process::clock::time_point deadline) {
  protocol::json message = {{"id", ++last_id_}, {"request", name}};
  message.update(fields);
  return process_->write_line(message.dump(-1, ' ', false, protocol::json::error_handler_t::replace), deadline);
}

protocol::json worker_client::read_answer(std::string_view name, double limit,
                                          worker_process::clock::time_point deadline) {
  std::optional<std::string> line;
  try {
    line = process_->read_line(deadline);
  } catch (const process_error& error) {
    const bool unavailable = name == "hello" && process_->exit_status() == 3;
    fail(unavailable ? worker_failure::reason::unavailable : worker_failure::reason::died,
         unavailable ? std::string("cannot use its device on this machine")
                     : fmt::format("{} while it answered '{}'", error.what(), name));
  }
  if (!line) {
    fail(worker_failure::reason::hung,
         fmt::format("did not answer '{}' within {} and was ended", name, format_duration(limit)));
  }
  const auto lied = [&](const std::string& what) {
    fail(worker_failure::reason::lied, fmt::format("answered '{}' with {}: {}", name, what, quote(*line)));
  };
  protocol::json answer;
  try {
    answer = protocol::parse_json<protocol::json>(*line);
  } catch (const protocol::json_too_deep& error) {
    lied(fmt::format("a line that is {}", error.what()));
  } catch (const protocol::json::exception&) {
    lied("a line that is not JSON");
  }
  if (!answer.is_object()) lied("no JSON object");
  if (!answer.contains("id") || answer.at("id") != protocol::json(last_id_)) {
    lied(fmt::format("another id than {}", last_id_));
  }
  if (!answer.contains("ok") || !answer.at("ok").is_boolean()) lied("no 'ok' that is true or false");
  if (!answer.at("ok").get<bool>()) {
    const protocol::json error = answer.value("error", protocol::json());
    if (!error.is_object() || !error.contains("kind") || !error.at("kind").is_string() || !error.contains("message") ||
        !error.at("message").is_string()) {
      lied("an error without kind and message");
    }
    const std::string kind = error.at("kind").get<std::string>();
    if (kind == "device") abandon();
    throw request_refused(kind, sanitize(error.at("message").get<std::string>()));
  }
  return answer;
}

protocol::json worker_client::request(std::string_view name, const protocol::json& fields, double limit) {
  greet();
  if (!has(name)) throw request_refused("unsupported", describe_lack(fmt::format("'{}'", name)));
  return exchange(name, fields, limit);
}

protocol::json worker_client::request_about_nets(std::string_view name, const protocol::json& fields, double limit) {
  greet();
  if (!has(protocol::workloads_feature)) {
    throw request_refused("unsupported", fmt::format("{} runs no nets", called()));
  }
  return exchange(name, fields, limit);
}

protocol::json worker_client::exchange(std::string_view name, const protocol::json& fields, double limit) {
  limit = options_.time_limit.value_or(limit);
  const auto deadline = after(limit);
  bool sent = false;
  try {
    sent = send(name, fields, deadline);
  } catch (const process_error& error) {
    fail(worker_failure::reason::died, fmt::format("{} before '{}'", error.what(), name));
  }
  if (!sent) {
    fail(worker_failure::reason::hung,
         fmt::format("did not read '{}' within {} and was ended", name, format_duration(limit)));
  }
  return read_answer(name, limit, deadline);
}

std::optional<process_usage> worker_client::quit() noexcept {
  if (!process_) return std::nullopt;
  try {
    std::ignore = send("quit", protocol::json::object(), worker_process::clock::now());
  } catch (...) {
    // It is ended below, whether it listens or not.
  }
  process_->stop(std::chrono::milliseconds(500));
  const std::optional<process_usage> used = process_->usage();
  process_.reset();
  return used;
}

}  // namespace prumo::bench
