// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "workers/worker_client.hpp"

#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <type_traits>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Seconds that an answer may take although nothing is to be done: start-up of a framework, a slow launcher.
constexpr double patience = 60;
/// How much longer than expected work may take before the worker counts as hung.
constexpr double slack = 20;

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

template <typename Parse>
std::invoke_result_t<Parse, const json&> worker_client::checked(std::string_view name, const json& answer,
                                                                Parse parse) {
  try {
    return parse(answer);
  } catch (const protocol_error& error) {
    fail(worker_failure::reason::lied, fmt::format("broke the protocol in its answer to '{}': {}", name, error.what()));
  } catch (const json::exception& error) {
    fail(worker_failure::reason::lied, fmt::format("broke the protocol in its answer to '{}': {}", name, error.what()));
  }
}

void worker_client::start() {
  ++generation_;
  greeted_ = false;
  worker_process::options how;
  how.own_process_group = launch_.launcher_words == 0;
  how.forward_errors = options_.forward_errors;
  process_ = std::make_unique<worker_process>(launch_.command, how);
  try {
    send("hello", {{"protocol", protocol_version}});
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

const hello_answer& worker_client::greet() {
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
  const json answer = exchange("hello", options_.time_limit.value_or(patience));
  hello_ = checked("hello", answer, parse_hello);
  greeted_ = true;
  failed_starts_ = 0;
  return *hello_;
}

void worker_client::send(std::string_view name, const json& fields) {
  json message = {{"id", ++last_id_}, {"request", name}};
  message.update(fields);
  process_->write_line(message.dump(-1, ' ', false, json::error_handler_t::replace));
}

json worker_client::exchange(std::string_view name, double limit) {
  const auto deadline = worker_process::clock::now() + std::chrono::duration_cast<worker_process::clock::duration>(
                                                           std::chrono::duration<double>(limit));
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
  const json answer = json::parse(*line, nullptr, false);
  const auto lied = [&](const std::string& what) {
    fail(worker_failure::reason::lied, fmt::format("answered '{}' with {}: {}", name, what, quote(*line)));
  };
  if (answer.is_discarded()) lied("a line that is not JSON");
  if (!answer.is_object()) lied("no JSON object");
  if (!answer.contains("id") || answer.at("id") != json(last_id_)) {
    lied(fmt::format("another id than {}", last_id_));
  }
  if (!answer.contains("ok") || !answer.at("ok").is_boolean()) lied("no 'ok' that is true or false");
  if (!answer.at("ok").get<bool>()) {
    const json error = answer.value("error", json());
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

json worker_client::request(std::string_view name, const json& fields, double limit) {
  greet();
  try {
    send(name, fields);
  } catch (const process_error& error) {
    fail(worker_failure::reason::died, fmt::format("{} before '{}'", error.what(), name));
  }
  return exchange(name, options_.time_limit.value_or(limit));
}

json worker_client::device(const std::string& device) {
  return checked("device", request("device", {{"device", device}}, patience), parse_device);
}

resolve_answer worker_client::resolve(const std::string& op, const std::string& dtype,
                                      std::optional<double> bytes_per_array, const json& shape,
                                      const std::string& layout, const json& parameters) {
  json fields = {{"op", op},       {"dtype", dtype},   {"bytes_per_array", nullptr},
                 {"shape", shape}, {"layout", layout}, {"parameters", parameters}};
  if (bytes_per_array) fields["bytes_per_array"] = static_cast<std::uint64_t>(*bytes_per_array);
  return checked("resolve", request("resolve", fields, patience), parse_resolve);
}

prepare_answer worker_client::prepare(const prepare_request& what, double expected) {
  const auto nullable = [](const std::optional<std::string>& text) { return text ? json(*text) : json(); };
  return checked("prepare",
                 request("prepare",
                         {{"device", what.device},
                          {"op", what.op},
                          {"dtype", what.dtype},
                          {"shape", what.shape},
                          {"layout", what.layout},
                          {"parameters", what.parameters},
                          {"compute_mode", what.compute_mode},
                          {"seed", what.seed},
                          {"data", what.data},
                          {"host_memory", nullable(what.host_memory)},
                          {"cache", what.cache},
                          {"dispatch", what.dispatch},
                          {"implementation", nullable(what.implementation)}},
                         patience + slack * expected),
                 parse_prepare);
}

verify_answer worker_client::verify(std::int64_t case_id, std::optional<double> budget, double expected) {
  const json operations = budget ? json(*budget) : json();
  return checked("verify",
                 request("verify", {{"case", case_id}, {"budget", operations}}, 2 * patience + slack * expected),
                 parse_verify);
}

json worker_client::count(const std::string& op, const std::string& dtype, const json& shape, const json& parameters,
                          double limit, double expected) {
  return checked(
      "count",
      request("count", {{"op", op}, {"dtype", dtype}, {"shape", shape}, {"parameters", parameters}, {"limit", limit}},
              2 * patience + slack * expected),
      parse_count);
}

sample_answer worker_client::sample(std::int64_t case_id, double seconds, double expected) {
  return checked("sample",
                 request("sample", {{"case", case_id}, {"seconds", seconds}}, patience + slack * (seconds + expected)),
                 parse_sample);
}

void worker_client::release(std::int64_t case_id) { request("release", {{"case", case_id}}, patience); }

void worker_client::quit() noexcept {
  if (!process_) return;
  try {
    send("quit", json::object());
  } catch (...) {
    // It is ended below, whether it listens or not.
  }
  process_->stop(std::chrono::milliseconds(500));
  process_.reset();
}

}  // namespace prumo::bench
