// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The typed requests of worker_client, and what each answer must hold.
#include "workers/worker_client.hpp"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

/// How much longer than expected work may take before the worker counts as hung.
constexpr double slack = 20;

}  // namespace

template <class Message>
Message worker_client::checked(std::string_view name, const protocol::json& answer) {
  try {
    return protocol::read_message<Message>(answer);
  } catch (const protocol::message_error& error) {
    break_protocol(name, error);
  }
}

nlohmann::json worker_client::device(const std::string& device, bool clocks) {
  const protocol::json answer =
      request("device", protocol::write_message(protocol::device_request{device, clocks}), patience);
  std::ignore = checked<protocol::device_answer>("device", answer);
  return answer.at("device");
}

protocol::resolve_answer worker_client::resolve(const protocol::resolve_request& what) {
  return checked<protocol::resolve_answer>("resolve", request("resolve", protocol::write_message(what), patience));
}

protocol::prepare_answer worker_client::prepare(const protocol::prepare_request& what, double expected) {
  return checked<protocol::prepare_answer>(
      "prepare", request("prepare", protocol::write_message(what), patience + slack * expected));
}

protocol::verify_answer worker_client::verify(std::int64_t case_id, std::optional<double> budget, double expected) {
  const protocol::json answer = request("verify", protocol::write_message(protocol::verify_request{case_id, budget}),
                                        2 * patience + slack * expected);
  const auto told = checked<protocol::verify_answer>("verify", answer);
  if (told.verified && !(told.error && told.error_bound && *told.error <= *told.error_bound)) {
    break_protocol("verify",
                   protocol::message_error(fmt::format("it says verified, but the error {} is not within the bound {}",
                                                       answer.value("error", protocol::json()).dump(),
                                                       answer.value("error_bound", protocol::json()).dump())));
  }
  return told;
}

nlohmann::json worker_client::count(const protocol::count_request& what, double expected) {
  const protocol::json answer = request("count", protocol::write_message(what), 2 * patience + slack * expected);
  const auto told = checked<protocol::count_answer>("count", answer);
  protocol::json counted = answer.at("counted");
  if (counted.is_object() && !counted.contains("total")) {
    break_protocol("count", protocol::message_error("the field 'counted.total' is missing"));
  }
  if (counted.is_object() && told.implementation) counted["implementation"] = *told.implementation;
  return counted;
}

protocol::sample_answer worker_client::sample(std::int64_t case_id, double seconds, double expected) {
  return checked<protocol::sample_answer>(
      "sample", request("sample", protocol::write_message(protocol::sample_request{case_id, seconds}),
                        patience + slack * (seconds + expected)));
}

void worker_client::release(std::int64_t case_id) {
  request("release", protocol::write_message(protocol::release_request{case_id}), patience);
}

protocol::open_answer worker_client::open(const protocol::open_request& what, double expected) {
  return checked<protocol::open_answer>(
      "open", request_about_nets("open", protocol::write_message(what), 2 * patience + slack * expected));
}

protocol::check_answer worker_client::check(const protocol::check_request& what, double expected) {
  const protocol::json answer =
      request_about_nets("check", protocol::write_message(what), 2 * patience + slack * expected);
  const auto told = checked<protocol::check_answer>("check", answer);
  if (told.verified && !(told.error && told.error_bound && *told.error <= *told.error_bound)) {
    break_protocol("check", protocol::message_error("it says verified, but the error is not within the bound"));
  }
  return told;
}

protocol::sample_answer worker_client::time(const protocol::time_request& what, double expected) {
  return checked<protocol::sample_answer>(
      "time", request_about_nets("time", protocol::write_message(what), patience + slack * (what.seconds + expected)));
}

protocol::evaluate_answer worker_client::evaluate(std::int64_t session, double expected) {
  const protocol::json answer = request_about_nets(
      "evaluate", protocol::write_message(protocol::evaluate_request{session}), 2 * patience + slack * expected);
  auto told = checked<protocol::evaluate_answer>("evaluate", answer);
  if (told.correct > told.images ||
      (!told.predictions.empty() && std::cmp_not_equal(told.predictions.size(), told.images))) {
    break_protocol("evaluate",
                   protocol::message_error(fmt::format("{} of {} images are right, and there are {} predictions",
                                                       told.correct, told.images, told.predictions.size())));
  }
  return told;
}

protocol::advance_answer worker_client::advance(const protocol::advance_request& what, double expected) {
  const protocol::json answer = request_about_nets("advance", protocol::write_message(what),
                                                   patience + slack * (what.seconds.value_or(0) + expected));
  auto told = checked<protocol::advance_answer>("advance", answer);
  if (told.correct > told.images || told.steps > told.step) {
    break_protocol("advance", protocol::message_error(fmt::format("{} of {} images are right, after {} of {} steps",
                                                                  told.correct, told.images, told.steps, told.step)));
  }
  return told;
}

protocol::save_answer worker_client::save(const protocol::save_request& what) {
  return checked<protocol::save_answer>("save",
                                        request_about_nets("save", protocol::write_message(what), 2 * patience));
}

protocol::load_answer worker_client::load(const protocol::load_request& what) {
  return checked<protocol::load_answer>("load",
                                        request_about_nets("load", protocol::write_message(what), 2 * patience));
}

void worker_client::close(std::int64_t session) {
  request_about_nets("close", protocol::write_message(protocol::close_request{session}), patience);
}

}  // namespace prumo::bench
