// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cases/case_record.hpp"

#include "results/result_fields.hpp"
#include "statistics/median_interval.hpp"
#include "statistics/statistics.hpp"
#include "statistics/time_interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace prumo::bench {
namespace {

using nlohmann::json;

json count_or_null(const std::optional<std::uint64_t>& number) { return number ? json(*number) : json(); }

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

}  // namespace

void case_record::set_prepared(const protocol::prepare_answer& prepared) {
  result_["implementation"] = prepared.implementation;
  if (prepared.unit) result_["unit"] = *prepared.unit;
  clock_ = prepared.clock;
}

void case_record::set_verification(const protocol::verify_answer& verification) {
  compared_ = true;
  result_["verified"] = verification.verified;
  result_["error"] = or_null(verification.error);
  result_["error_bound"] = or_null(verification.error_bound);
  result_["verification"] = {{"method", verification.method.empty() ? json() : json(verification.method)},
                             {"checked", count_or_null(verification.checked)},
                             {"dispatch", verification.dispatch.empty() ? json() : json(verification.dispatch)}};
  if (verification.verified) return;
  wrong_ = true;
  std::string reason = "the result is wrong";
  if (verification.error && verification.error_bound) {
    reason +=
        fmt::format(": the error is {:.3g}, and {:.3g} is allowed", *verification.error, *verification.error_bound);
  }
  if (!verification.message.empty()) reason += "; " + verification.message;
  end("failed", reason);
}

void case_record::set_counted(json counted) {
  json& flops = result_["flops"];
  if (counted.is_object()) {
    if (const auto whose = counted.find("implementation"); whose != counted.end()) {
      flops["counted_implementation"] = *whose;
      counted.erase(whose);
    }
  }
  flops["counted"] = std::move(counted);
}

void case_record::add_sample(const protocol::sample_answer& sample) {
  append(samples_, sample.samples);
  append(wall_, sample.wall);
  if (sample.transfer) {
    transferred_ = true;
    append(h2d_, sample.transfer->h2d);
    append(d2h_, sample.transfer->d2h);
    h2d_bytes_ = sample.transfer->h2d_bytes;
    d2h_bytes_ = sample.transfer->d2h_bytes;
  }
  if (sample.clock_mhz && *sample.clock_mhz > 0) clocks_mhz_.push_back(*sample.clock_mhz);
  if (sample.temperature_c) temperature_c_ = std::max(temperature_c_.value_or(-273.15), *sample.temperature_c);
  if (sample.energy_j) {
    energy_j_ += *sample.energy_j;
    energy_calls_ += static_cast<double>(sample.batch) * static_cast<double>(sample.samples.size());
  }
  throttle_.insert(sample.throttle.begin(), sample.throttle.end());
}

void case_record::end_round() {
  rounds_.push_back(samples_.size() - samples_of_rounds_);
  samples_of_rounds_ = samples_.size();
}

void case_record::end(const std::string& status, const std::string& reason) {
  ended_ = true;
  result_["status"] = status;
  result_["reason"] = reason.empty() ? "no reason was given" : reason;
  if (!wrong_) result_["verified"] = nullptr;
}

void case_record::end_refused(const std::string& kind, const std::string& message) {
  if (kind == "unsupported") {
    end("unsupported", message);
  } else if (kind == "skipped") {
    end("skipped", message);
  } else if (kind == "memory") {
    end("skipped", fmt::format("{}: {}", too_little_memory, message));
  } else {
    end("failed", message);
  }
}

json case_record::finish(stop_reason why) const {
  const sample_summary summary = summarize(samples_);
  json result = result_;
  result["status"] = "ok";
  result["reason"] = nullptr;
  result["time_s"] = {{"median", summary.median}, {"p25", summary.p25},     {"p75", summary.p75},
                      {"samples", samples_},      {"stop", to_string(why)}, {"clock", clock_}};
  if (!rounds_.empty()) {
    result["time_s"]["rounds"] = json::array({rounds_});
    result["time_s"]["interval"] = interval_entry(interval_by_rounds(samples_, rounds_), summary.median);
  }
  result["wall_s"] = !wall_.empty() ? median_or_null(wall_) : clock_ == "wall" ? json(summary.median) : json();
  if (transferred_) {
    result["transfer"] = {{"h2d_s", median_or_null(h2d_)},
                          {"d2h_s", median_or_null(d2h_)},
                          {"h2d_bytes", count_or_null(h2d_bytes_)},
                          {"d2h_bytes", count_or_null(d2h_bytes_)}};
  }
  result["clock_mhz"] = median_or_null(clocks_mhz_);
  result["temperature_c"] = or_null(temperature_c_);
  // The counters of GPUs advance in steps that are longer than a turn, so their energy is that of the sustained state.
  result["energy_j"] =
      energy_calls_ > 0 ? json(energy_j_ / energy_calls_) : field(result, "/states/sustained/energy_j");
  if (!throttle_.empty()) {
    result["warnings"].push_back(throttle_warning(throttle_));
  }
  return result;
}

void store_rates_and_shares(json& result, const planned_group& group, const json& peaks,
                            const ceilings_of_case& ceilings) {
  timed_call input;
  input.seconds = result.at("time_s").at("median").get<double>();
  input.model = cost_model::from_json(group.model);
  input.counted = result.at("flops").at("counted");
  if (input.counted.is_object()) input.counted_flops = input.counted.at("total").get<double>();
  input.roof = memory_roof_of(group);
  input.ceilings = ceilings.typical;
  input.fastest_ceilings = ceilings.fastest;
  input.ceiling_intervals = ceilings.intervals;
  const compute_unit unit = find_compute_unit(peaks, result.value("unit", json(input.model.unit)).get<std::string>(),
                                              group.dtype, group.compute_mode);
  result["unit"] = unit.unit;
  input.uses_tensor_unit = unit.is_tensor();
  if (result.at("data") == "resident") {
    input.peaks = find_compute_peaks(peaks, unit, number_of(result.at("clock_mhz")));
  } else {
    input.copied = timed_call::copies{number_of(field(result, "/transfer/h2d_bytes")).value_or(0),
                                      number_of(field(result, "/transfer/d2h_bytes")).value_or(0)};
  }
  compute_rates_and_shares(input).store(result);
}

}  // namespace prumo::bench
