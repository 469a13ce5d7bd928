// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure/time_model.hpp"

#include "rates/rates_and_shares.hpp"
#include "results/result_fields.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// What is usual where nothing was measured and the device tells nothing.
struct usual_rates {
  double bytes = 1e10;          ///< of memory, a second
  double flops = 3e10;          ///< a second
  double prepared_bytes = 1e9;  ///< allocated and filled, a second
  double verified_bytes = 1e9;  ///< brought to the host and looked through, a second
  double last_level_cache = 32.0 * 1024 * 1024;
};

constexpr double link_bytes = 1e10;           // between host and device, a second
constexpr double host_buffer_bytes = 2e9;     // of memory for transfers, allocated and touched, a second
constexpr double freed_bytes = 1e10;          // of a host, a second
constexpr double reference_operations = 1e8;  // a second
constexpr double counted_operations = 2e7;    // a second
constexpr double reference_per_element = 20;  // operations of a reference, about
constexpr double usual_slowdown = 1;          // of a call where nothing was measured yet
constexpr double shortest_interval = 2e-3;    // that a worker takes for a batch of calls

/// Peers call their backends as they like: `torch-cuda`, `cupy`.
bool is_gpu(const fleet_device& device) { return has_transfers(device.summary); }

usual_rates rates_of(const fleet_device& device) {
  if (is_gpu(device)) return {5e11, 5e12, 2e10, 4e9, 64.0 * 1024 * 1024};
  return {};
}

/// The share of a theoretical peak that good kernels reach.
constexpr double usual_share_of_peak = 0.7;

double reference_cost(const planned_group& group) {
  const cost_model model = cost_model::from_json(group.model);
  return reference_per_element * model.elements.value_or(0) + model.flops.value_or(0);
}

}  // namespace

double useful_seconds(const measure_options& options, double interval_seconds) {
  constexpr double noisy = 10;  // times as long as on a quiet machine
  const double least =
      std::max(options.minimum_seconds, static_cast<double>(options.minimum_samples) * interval_seconds);
  return std::min(noisy * least, options.case_limit_seconds);
}

double time_model::correction(const std::string& key, double unknown) const {
  const auto found = corrections_.find(key);
  return found == corrections_.end() ? unknown : found->second;
}

void time_model::learn(const std::string& key, double seconds, double predicted) {
  if (!(seconds > 0) || !(predicted > 0)) return;
  const double ratio = std::clamp(seconds / predicted, 1e-4, 1e4);
  const auto [place, is_new] = corrections_.emplace(key, ratio);
  // Half of what was known stays, so that one slow moment does not spoil all estimates.
  if (!is_new) place->second = std::sqrt(place->second * ratio);
}

void time_model::recent_median::add(double value) {
  if (values_.size() == most_values) values_.erase(values_.begin());
  values_.push_back(value);
}

void time_model::recent_median::drop_largest() {
  if (!values_.empty()) values_.erase(std::ranges::max_element(values_));
}

double time_model::recent_median::value() const {
  if (values_.empty()) return unknown_;
  std::vector<double> sorted = values_;
  std::ranges::sort(sorted);
  return sorted[(sorted.size() - 1) / 2];
}

double time_model::predict(const std::string& key, double work) const {
  const auto found = chores_.find(key);
  const chore known = found == chores_.end() ? chore{} : found->second;
  return known.fixed.value() + known.factor.value() * work;
}

void time_model::learn_chore(const planned_group& group, const std::string& key, double seconds, double work) {
  if (!(seconds > 0) || !(work > 0)) return;
  const std::string of_operation = fmt::format("{} {} {}", key, group.op, group.dtype);
  if (passes_over_first_chores_ && begun_chores_.insert(of_operation).second) return;
  chore& known = chores_.emplace(key, chore{}).first->second;
  const double fixed = known.fixed.value();
  const double grown = known.factor.value() * work;
  if (grown < fixed) {
    known.fixed.add(std::clamp(seconds - grown, 0.1 * seconds, seconds));
  } else {
    known.factor.add(std::clamp((seconds - fixed) / work, 1e-4, 1e4));
  }
}

void time_model::doubt_chores(const planned_case& which) {
  for (const std::string& key : {memory_key("prepare", which), memory_key("release", which),
                                 device_key("verify", which), device_key("count", which)}) {
    const auto found = chores_.find(key);
    if (found == chores_.end()) continue;
    found->second.fixed.drop_largest();
    found->second.factor.drop_largest();
  }
}

std::string time_model::device_key(const char* what, const planned_case& which) const {
  return fmt::format("{} {}", what, which.device);
}

/// Pages of the host that a device may read take another time to get than those it may not.
std::string time_model::memory_key(const char* what, const planned_case& which) {
  return fmt::format("{} {} {} {}", what, which.device, which.data, which.host_memory.value_or(""));
}

std::string time_model::call_key(const planned_group& group, const planned_case& which) const {
  return fmt::format("{} {} {} {} {} {}", which.device, group.op, group.dtype, group.layout, which.data,
                     which.implementation.value_or(""));
}

/// By the device's peak; peers that know none work on the same processor as those that do.
double time_model::flops_per_second(const planned_group& group, const planned_case& which) const {
  const fleet_device& device = fleet_.devices()[which.device];
  const std::string unit = cost_model::from_json(group.model).unit;
  double best = 0;
  for (const fleet_device& other : fleet_.devices()) {
    if (is_gpu(other) != is_gpu(device) || (is_gpu(device) && other.id != device.id)) continue;
    if (other.threads != device.threads) continue;
    const json& peaks = field(other.entry, "/peaks");
    const compute_peaks peak =
        find_compute_peaks(peaks, find_compute_unit(peaks, unit, group.dtype, group.compute_mode));
    best = std::max({best, peak.max_clock.value_or(0), peak.measured_clock.value_or(0)});
  }
  return best > 0 ? usual_share_of_peak * best : rates_of(device).flops;
}

std::pair<double, const char*> time_model::usual_call(const planned_group& group, const planned_case& which) const {
  const cost_model model = cost_model::from_json(group.model);
  const usual_rates usual = rates_of(fleet_.devices()[which.device]);
  const double memory = model.bytes.value_or(group.footprint_bytes) / usual.bytes;
  const double compute = model.flops.value_or(0) / flops_per_second(group, which);
  constexpr double shortest = 1e-7;
  if (which.data == "transferred") {
    return {std::max({memory, compute, shortest}) + group.footprint_bytes / link_bytes, "transfer"};
  }
  return {std::max({memory, compute, shortest}), compute > memory ? "compute" : "memory"};
}

double time_model::call_seconds(const planned_group& group, const planned_case& which) const {
  const auto [seconds, bound] = usual_call(group, which);
  const double of_device = correction(device_key(bound, which), usual_slowdown);
  return seconds * correction(call_key(group, which), of_device) + correction(device_key("disturbed", which), 0);
}

/// Of all copies of the arrays.
double time_model::prepared_bytes(const planned_group& group, const planned_case& which) const {
  const fleet_device& device = fleet_.devices()[which.device];
  const double cache =
      number_of(field(device.entry, "/facts/cache_llc_bytes")).value_or(rates_of(device).last_level_cache);
  return std::max(group.footprint_bytes, which.cache == "cold" ? 2 * cache : 0.0);
}

double time_model::prepare_work(const planned_group& group, const planned_case& which) const {
  const double buffers = which.data == "transferred" ? group.footprint_bytes / host_buffer_bytes : 0;
  return prepared_bytes(group, which) / rates_of(fleet_.devices()[which.device]).prepared_bytes + buffers;
}

double time_model::prepare_seconds(const planned_group& group, const planned_case& which) const {
  return predict(memory_key("prepare", which), prepare_work(group, which));
}

double time_model::release_work(const planned_group& group, const planned_case& which) const {
  double bytes = is_gpu(fleet_.devices()[which.device]) ? 0 : prepared_bytes(group, which);
  if (which.data == "transferred") bytes += group.footprint_bytes;
  return bytes / freed_bytes;
}

double time_model::release_seconds(const planned_group& group, const planned_case& which) const {
  return predict(memory_key("release", which), release_work(group, which));
}

double time_model::verify_work(const planned_group& group, const planned_case& which, double budget) const {
  return group.footprint_bytes / rates_of(fleet_.devices()[which.device]).verified_bytes +
         std::min(budget, reference_cost(group)) / reference_operations;
}

double time_model::verify_seconds(const planned_group& group, const planned_case& which, double budget) const {
  return predict(device_key("verify", which), verify_work(group, which, budget)) + call_seconds(group, which);
}

double time_model::verify_budget(const planned_group& group, const planned_case& which, double seconds) const {
  const double fixed = verify_seconds(group, which, 0);
  const double an_operation = predict(device_key("verify", which), 1) - predict(device_key("verify", which), 0);
  const double operations = (seconds - fixed) * reference_operations / an_operation;
  return std::clamp(operations, least_verify_budget, usual_verify_budget);
}

double time_model::count_work(const planned_group& group, double limit) {
  const double flops = cost_model::from_json(group.model).flops.value_or(0);
  return flops <= limit ? flops / counted_operations : 0;
}

double time_model::count_seconds(const planned_group& group, const planned_case& which, double limit) const {
  return predict(device_key("count", which), count_work(group, limit));
}

double time_model::first_sample_seconds(const planned_group& group, const planned_case& which) const {
  // To warm up, to calibrate, to measure: of long calls the first of these are the sample (docs/protocol.md).
  const double call = call_seconds(group, which);
  const double intervals = call >= 1 ? 1 : call >= 0.1 ? 2 : 3;
  return request_seconds + intervals * std::max(shortest_interval, call);
}

void time_model::learn_call(const planned_group& group, const planned_case& which, std::span<const double> samples) {
  if (samples.empty()) return;
  const sample_summary summary = summarize(samples);
  const auto [seconds, bound] = usual_call(group, which);
  learn(call_key(group, which), summary.minimum, seconds);
  learn(device_key(bound, which), summary.minimum, seconds);
  double& disturbed = corrections_[device_key("disturbed", which)];
  disturbed = 0.5 * (disturbed + summary.median - summary.minimum);
}

void time_model::learn_prepare(const planned_group& group, const planned_case& which, double seconds) {
  learn_chore(group, memory_key("prepare", which), seconds, prepare_work(group, which));
}

void time_model::learn_release(const planned_group& group, const planned_case& which, double seconds) {
  learn_chore(group, memory_key("release", which), seconds, release_work(group, which));
}

void time_model::learn_verify(const planned_group& group, const planned_case& which, double budget, double seconds) {
  // A verification makes the calls that a first sample would make, too, and one more.
  const double calls = first_sample_seconds(group, which) - request_seconds + call_seconds(group, which);
  // Of long calls nothing is learnt about the rest.
  if (calls < 0.5 * seconds)
    learn_chore(group, device_key("verify", which), seconds - calls, verify_work(group, which, budget));
}

void time_model::learn_count(const planned_group& group, const planned_case& which, double limit, double seconds) {
  learn_chore(group, device_key("count", which), seconds, count_work(group, limit));
}

}  // namespace prumo::bench
