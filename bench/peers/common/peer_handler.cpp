// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "peer_handler.hpp"

#include "layer_operations.hpp"
#include <prumo/serving/last_level_cache.hpp>
#include <prumo/serving/memory_limit.hpp>

#include <algorithm>
#include <fstream>

namespace prumo::peers {
namespace {

using protocol::error_kind;
using protocol::request_error;

void append(std::string& names, std::string_view name) { (names += names.empty() ? "" : ", ") += name; }

}  // namespace

std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
}

peer_handler::peer_handler(framework& computes) : computes_(computes), device_(computes.device()) {
  if (!computes.net_implementations().empty()) nets_.emplace(computes, protocol::last_level_cache_bytes());
}

protocol::hello_answer peer_handler::hello() {
  protocol::hello_answer answer;
  answer.worker = computes_.worker();
  answer.devices.push_back(device_);
  for (const operation& what : all_operations()) {
    protocol::case_description described;
    for (const implementation& it : computes_.implementations_of(what)) described.implementations.push_back(it.name);
    if (described.implementations.empty()) continue;
    for (const dtype type : all_dtypes) {
      std::string why = computes_.why_unsupported(what, type);
      if (why.empty()) {
        described.dtypes.emplace_back(name_of(type));
      } else {
        described.missing_dtypes.emplace_back(name_of(type), std::move(why));
      }
    }
    if (described.dtypes.empty()) continue;
    described.op = what.op;
    described.description = what.description;
    described.in_default_sweep = what.in_default_sweep;
    described.layouts = {"right"};
    described.axes = axes_of(what);
    described.parameters = what.parameters;
    described.compute_modes = {"strict"};
    described.arrays = what.inputs + 1;
    answer.cases.push_back(std::move(described));
  }
  if (nets_) answer.workloads = nets_->descriptions();
  return answer;
}

protocol::device_answer peer_handler::device(const protocol::device_request& request) {
  require_device(request.device);
  protocol::device_answer answer;
  answer.device = device_;
  const auto available = protocol::available_memory_bytes();
  answer.facts = {{"cache_llc_bytes", protocol::last_level_cache_bytes()},
                  {"memory_available_bytes", available ? protocol::json(*available) : protocol::json()}};
  answer.facts.update(computes_.facts());
  return answer;
}

protocol::resolve_answer peer_handler::resolve(const protocol::resolve_request& request) {
  const choice chosen = choose(request);
  const call extents = peers::resolve(chosen.what, request, request.bytes_per_array.value_or(0), chosen.type);
  protocol::resolve_answer answer = describe(chosen.what, extents, chosen.type);
  if (request.bytes_per_array) answer.bytes_per_array = request.bytes_per_array;
  return answer;
}

protocol::prepare_answer peer_handler::prepare(const protocol::prepare_request& request) {
  require_device(request.device);
  const choice chosen = choose(request);
  const operation& what = chosen.what;
  if (const std::string why = computes_.why_unsupported(what, chosen.type); !why.empty()) {
    throw request_error(error_kind::unsupported, what.op + " in " + request.dtype + ": " + why);
  }
  if (request.compute_mode != "strict") {
    throw request_error(error_kind::unsupported,
                        computes_.name() + " has no compute mode '" + request.compute_mode + "' here");
  }
  const implementation how = choose_implementation(what, request.implementation);
  if (request.transferred) throw request_error(error_kind::skipped, "a host device has no transfers");
  const call extents = peers::resolve(what, request, 0, chosen.type);
  if (is_layer(what)) {
    if (const std::string why = why_invalid_layer(what, extents.layer); !why.empty()) {
      throw request_error(error_kind::usage, what.op + ": " + why);
    }
  }
  const auto footprint = static_cast<std::size_t>(describe(what, extents, chosen.type).footprint_bytes);
  const std::size_t touched = touched_bytes(what, chosen.type, extents);
  const std::size_t copies =
      request.cold ? protocol::cold_copies(footprint, touched, protocol::last_level_cache_bytes()) : 1;
  const auto needed = static_cast<std::int64_t>(copies * footprint);
  protocol::require_memory(what.op + " " + request.dtype, needed);

  auto made = std::make_unique<peer_case>(computes_, what, how, chosen.type, extents, request.seed, copies);
  const std::int64_t id = ++last_id_;
  open_[id] = std::move(made);
  return {id, how.name, static_cast<std::int64_t>(copies), needed, "wall", "single"};
}

protocol::verify_answer peer_handler::verify(const protocol::verify_request& request) {
  constexpr double usual_budget = 3e7;
  return find_open(request.case_id).verify(request.budget.value_or(usual_budget));
}

protocol::count_answer peer_handler::count(const protocol::count_request&) { return {}; }

protocol::sample_answer peer_handler::sample(const protocol::sample_request& request) {
  protocol::sample_times times = find_open(request.case_id).measured().sample(request.seconds);
  protocol::sample_answer answer;
  answer.samples = times.wall;
  answer.wall = times.wall;
  answer.batch = times.batch;
  return answer;
}

void peer_handler::release(std::int64_t case_id) {
  find_open(case_id);
  open_.erase(case_id);
}

peer_handler::choice peer_handler::choose(const protocol::case_request& request) const {
  const operation* const what = find_operation(request.op);
  if (what == nullptr || computes_.implementations_of(*what).empty()) {
    std::string known;
    for (const operation& it : all_operations()) {
      if (!computes_.implementations_of(it).empty()) append(known, it.op);
    }
    throw request_error(error_kind::usage, "there is no operation '" + request.op + "'; there are: " + known);
  }
  if (request.layout != "right") {
    const bool exists = request.layout == "left" || request.layout == "strided";
    throw exists ? request_error(error_kind::unsupported, computes_.name() + ": there is no layout " + request.layout)
                 : request_error(error_kind::usage, "there is no layout '" + request.layout + "'; there is: right");
  }
  const std::optional<dtype> type = dtype_named(request.dtype);
  if (!type) {
    std::string known;
    for (const dtype it : all_dtypes) append(known, name_of(it));
    throw request_error(error_kind::usage, "there is no type '" + request.dtype + "'; there are: " + known);
  }
  return {*what, *type};
}

implementation peer_handler::choose_implementation(const operation& what,
                                                   const std::optional<std::string>& name) const {
  const std::vector<implementation> all = computes_.implementations_of(what);
  if (!name) return all.front();
  std::string known;
  for (const implementation& it : all) {
    if (it.name == *name) return it;
    append(known, it.name);
  }
  throw request_error(error_kind::usage,
                      "there is no " + what.op + " implementation '" + *name + "'; there are: " + known);
}

void peer_handler::require_device(const std::string& id) const {
  if (id == device_.id) return;
  throw request_error(error_kind::usage, "there is no device '" + id + "' here; there is: " + device_.id);
}

peer_case& peer_handler::find_open(std::int64_t case_id) {
  const auto found = open_.find(case_id);
  if (found != open_.end()) return *found->second;
  throw request_error(error_kind::usage,
                      "there is no case " + std::to_string(case_id) + ": it was never prepared, or released");
}

}  // namespace prumo::peers
