// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops_handler.hpp"

#include <prumo/protocol/memory_limit.hpp>
#include <prumo/protocol/surroundings.hpp>

#include <algorithm>
#include <fstream>
#include <unistd.h>

namespace prumo::peers {
namespace {

using protocol::error_kind;
using protocol::request_error;

constexpr const char* device_id = "loops:0";

const operation& find_operation(const std::string& op) {
  std::string known;
  for (const operation& it : operations()) {
    if (it.op == op) return it;
    known += (known.empty() ? "" : ", ") + it.op;
  }
  throw request_error(error_kind::usage, "there is no operation '" + op + "'; there are: " + known);
}

/// Whether the type is double. Throws for types that loops do not have.
bool is_double(const std::string& dtype) {
  if (dtype == "f32" || dtype == "f64") return dtype == "f64";
  if (dtype == "f16" || dtype == "bf16")
    throw request_error(error_kind::unsupported, "plain loops have no type " + dtype);
  throw request_error(error_kind::usage, "there is no type '" + dtype + "'; there are: f32, f64");
}

std::size_t value_bytes(const std::string& dtype) { return is_double(dtype) ? sizeof(double) : sizeof(float); }

void require_row_major(const std::string& layout) {
  if (layout == "right") return;
  if (layout == "left" || layout == "strided") {
    throw request_error(error_kind::unsupported, "plain loops have no layout " + layout);
  }
  throw request_error(error_kind::usage, "there is no layout '" + layout + "'; there is: right");
}

implementation choose(const operation& what, const std::optional<std::string>& name) {
  const std::vector<implementation> all = implementations_of(what.op);
  if (!name) return all.front();
  std::string known;
  for (const implementation& it : all) {
    if (it.name == *name) return it;
    known += (known.empty() ? "" : ", ") + std::string(it.name);
  }
  throw request_error(error_kind::usage,
                      "there is no " + what.op + " implementation '" + *name + "'; there are: " + known);
}

void require_device(const std::string& id) {
  if (id == device_id) return;
  throw request_error(error_kind::usage, "there is no device '" + id + "' here; there is: " + device_id);
}

std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
}

protocol::device_summary summary() { return {device_id, "loops", processor_name(), thread_count(), false}; }

/// The caches that one core reaches, or a large one where the system does not tell.
std::size_t last_level_cache_bytes() {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long bytes = ::sysconf(name); bytes > 0) return static_cast<std::size_t>(bytes);
  }
#endif
  return std::size_t{32} << 20;
}

}  // namespace

protocol::hello_answer loops_handler::hello() {
  protocol::hello_answer answer;
  answer.worker.name = "prumo-worker-loops";
  answer.worker.version = protocol::prumo_version();
  answer.worker.backend = "loops";
  answer.worker.versions = {{"compiler", protocol::compiler_version()}};
  answer.worker.build = protocol::build_description();
  answer.worker.environment = protocol::environment_that_matters();
  answer.worker.warnings = protocol::surrounding_warnings(true);
  answer.devices.push_back(summary());
  for (const operation& what : operations()) {
    protocol::case_description described;
    described.op = what.op;
    described.description = what.description;
    // That of prumo's own default sweep.
    constexpr std::string_view swept[] = {"add", "mul", "scale", "sigmoid", "tanh", "sum", "gemm"};
    described.in_default_sweep = std::ranges::find(swept, what.op) != std::end(swept);
    described.dtypes = {"f32", "f64"};
    described.layouts = {"right"};
    if (what.shape == operation_shape::product) {
      described.axes = {
          {"m", "rows of C", {}}, {"n", "columns of C", {}}, {"k", "columns of op(A), rows of op(B)", {}}};
    } else {
      described.axes = {{"n", "elements of each array", {}}};
    }
    described.parameters = what.parameters;
    for (const implementation& it : implementations_of(what.op)) described.implementations.emplace_back(it.name);
    described.compute_modes = {"strict"};
    described.arrays = what.inputs + 1;
    answer.cases.push_back(std::move(described));
  }
  return answer;
}

protocol::device_answer loops_handler::device(const std::string& id) {
  require_device(id);
  protocol::device_answer answer;
  answer.device = summary();
  const auto available = protocol::available_memory_bytes();
  answer.facts = {{"cache_llc_bytes", last_level_cache_bytes()},
                  {"memory_available_bytes", available ? protocol::json(*available) : protocol::json()}};
  return answer;
}

protocol::resolve_answer loops_handler::resolve(const protocol::resolve_request& request) {
  const operation& what = find_operation(request.op);
  require_row_major(request.layout);
  const std::size_t bytes = value_bytes(request.dtype);
  protocol::resolve_answer answer =
      describe(what, peers::resolve(what, request, request.bytes_per_array.value_or(0), bytes), bytes);
  if (request.bytes_per_array) answer.bytes_per_array = *request.bytes_per_array;
  return answer;
}

protocol::prepare_answer loops_handler::prepare(const protocol::prepare_request& request) {
  require_device(request.device);
  const operation& what = find_operation(request.op);
  require_row_major(request.layout);
  const std::size_t bytes = value_bytes(request.dtype);
  if (request.compute_mode != "strict") {
    throw request_error(error_kind::unsupported, "plain loops have no compute mode '" + request.compute_mode + "'");
  }
  const implementation how = choose(what, request.implementation);
  if (request.transferred) throw request_error(error_kind::skipped, "a host device has no transfers");
  const call extents = peers::resolve(what, request, 0, bytes);
  const auto footprint = static_cast<std::size_t>(describe(what, extents, bytes).footprint_bytes);
  const std::size_t copies = request.cold ? protocol::cold_copies(footprint, last_level_cache_bytes()) : 1;
  protocol::require_memory(what.op + " " + request.dtype, static_cast<std::int64_t>(copies * footprint));

  const std::int64_t id = ++last_id_;
  open_[id] = std::make_unique<loop_case>(what, how, extents, is_double(request.dtype), request.seed, copies);
  return {id, how.name, static_cast<std::int64_t>(copies), static_cast<std::int64_t>(copies * footprint), "wall"};
}

protocol::verify_answer loops_handler::verify(const protocol::verify_request& request) {
  constexpr double usual_budget = 3e7;
  return find_open(request.case_id).verify(request.budget.value_or(usual_budget));
}

protocol::count_answer loops_handler::count(const protocol::count_request&) { return {}; }

protocol::sample_answer loops_handler::sample(const protocol::sample_request& request) {
  protocol::sample_times times = find_open(request.case_id).measured().sample(request.seconds);
  protocol::sample_answer answer;
  answer.samples = times.wall;
  answer.wall = times.wall;
  answer.batch = times.batch;
  return answer;
}

void loops_handler::release(std::int64_t case_id) {
  find_open(case_id);
  open_.erase(case_id);
}

loop_case& loops_handler::find_open(std::int64_t case_id) {
  const auto found = open_.find(case_id);
  if (found != open_.end()) return *found->second;
  throw request_error(error_kind::usage,
                      "there is no case " + std::to_string(case_id) + ": it was never prepared, or released");
}

}  // namespace prumo::peers
