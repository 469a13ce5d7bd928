// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/plan.hpp"

#include "plan/plan_selection.hpp"
#include "rates/rates_and_shares.hpp"
#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "terminal/program_error.hpp"
#include "terminal/text_table.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

std::optional<settled_outcome> memory_outcome(const planned_group& group, const fleet_device& device) {
  auto available = number_of(field(device.entry, "/facts/memory_available_bytes"));
  if (!available) available = number_of(field(device.entry, "/facts/memory_bytes"));
  if (!available || group.footprint_bytes <= *available) return std::nullopt;
  return settled_outcome{
      "skipped",
      fmt::format("{}: {} needs {} of memory ({:.0f} bytes), but {} has {} ({:.0f} bytes)", too_little_memory, group.op,
                  format_bytes(static_cast<std::uint64_t>(group.footprint_bytes)), group.footprint_bytes, device.id,
                  format_bytes(static_cast<std::uint64_t>(*available)), *available)};
}

/// Adds the cases of one device: implementations x data x host memory x cache state x dispatch. Calls with transfers
/// are launched one by one whatever the dispatch, which is then one case.
void add_cases(planned_group& group, std::size_t device_index, const worker_fleet& fleet, const axis_choice& choice) {
  const fleet_device& device = fleet.devices()[device_index];
  const protocol::case_description* described = fleet.find_case(device, group.op);
  if (!described) {
    planned_case missing{device_index, choice.data.front(), std::nullopt, choice.caches.front(), std::nullopt, {}};
    missing.outcome = settled_outcome{"unsupported", fmt::format("{} has no operation {}", device.id, group.op)};
    if (!device.missing.empty()) missing.outcome = settled_outcome{"skipped", device.missing};
    group.cases.push_back(std::move(missing));
    return;
  }
  std::optional<settled_outcome> outcome;
  if (const std::string why = fleet.worker(device.worker).why_unmeasurable(); !why.empty()) {
    outcome = settled_outcome{"unsupported", why};
  } else if (!device.fixed_threads.empty()) {
    outcome = settled_outcome{"unsupported", device.fixed_threads};
  } else if (std::ranges::find(described->dtypes, group.dtype) == described->dtypes.end()) {
    outcome =
        settled_outcome{"unsupported", fmt::format("{} does not support {} for {}", device.id, group.dtype, group.op)};
    const auto told =
        std::ranges::find(described->missing_dtypes, group.dtype, &std::pair<std::string, std::string>::first);
    if (told != described->missing_dtypes.end()) outcome->reason += ": " + told->second;
  } else {
    outcome = memory_outcome(group, device);
  }
  for (const auto& implementation : implementations_for(choice, *described)) {
    auto case_outcome = outcome;
    const bool known = !implementation || std::ranges::find(described->implementations, *implementation) !=
                                              described->implementations.end();
    if (!case_outcome && !known) {
      case_outcome = settled_outcome{
          "unsupported", fmt::format("{} has no implementation {} of {}", device.id, *implementation, group.op)};
    }
    for (const std::string& data : data_for(choice, device.summary)) {
      const bool transferred = data == "transferred";
      for (const std::string& memory : choice.host_memory) {
        for (const std::string& cache : choice.caches) {
          planned_case planned{device_index, data, std::nullopt, cache, implementation, case_outcome};
          if (transferred) {
            planned.host_memory = memory;
            group.cases.push_back(planned);
            continue;
          }
          for (const std::string& dispatch : choice.dispatches) {
            planned.dispatch = dispatch;
            group.cases.push_back(planned);
          }
        }
        if (!transferred) break;
      }
    }
  }
}

/// Asks the workers, in order, until one resolves the shape. Refusals end in `refusal`.
std::optional<protocol::resolve_answer> resolve_shape(worker_fleet& fleet, const op_choice& chosen,
                                                      const std::string& dtype, const std::string& layout,
                                                      std::optional<std::uint64_t> bytes, std::string& refusal) {
  for (const fleet_device& device : fleet.devices()) {
    const protocol::case_description* described = fleet.find_case(device, chosen.op);
    if (!described || std::ranges::find(described->dtypes, dtype) == described->dtypes.end()) continue;
    try {
      auto request =
          make_case_request<protocol::resolve_request>(chosen.op, dtype, layout, chosen.shape, chosen.parameters);
      if (bytes) request.bytes_per_array = static_cast<std::int64_t>(*bytes);
      return fleet.worker(device.worker).resolve(request);
    } catch (const request_refused& refused) {
      refusal = refused.what();
      if (refused.kind() == "usage")
        throw program_error(exit_code::wrong_usage, fmt::format("{}: {}", chosen.op, refusal));
    } catch (const worker_failure& failure) {
      refusal = failure.what();
    }
  }
  return std::nullopt;
}

void refuse_if_nothing_fits(const bench_plan& plan) {
  std::string reason;
  std::size_t settled = 0;
  for (const planned_group& group : plan.groups) {
    for (const planned_case& it : group.cases) {
      if (!it.outcome || it.outcome->status != "skipped") return;
      if (reason.empty()) reason = it.outcome->reason;
      ++settled;
    }
  }
  if (settled == 0) return;
  if (!reason.starts_with(too_little_memory)) {
    throw program_error(exit_code::machine_cannot, fmt::format("nothing can be measured: {}", reason));
  }
  throw program_error(exit_code::machine_cannot, fmt::format("no case fits into memory{}; choose a smaller --size",
                                                             reason.substr(too_little_memory.size())));
}

/// Finds, for each operation, type, layout, mode and device with a memory of its own, the largest that can be measured.
void mark_largest_kernels(bench_plan& plan, const worker_fleet& fleet) {
  struct found {
    double bytes = -1;
    planned_case* which = nullptr;
  };
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::size_t>, found> largest;
  for (planned_group& group : plan.groups) {
    for (planned_case& it : group.cases) {
      if (it.outcome || it.data != "resident" || !has_transfers(fleet.devices()[it.device].summary)) continue;
      found& best = largest[std::tuple(group.op, group.dtype, group.layout, group.compute_mode, it.device)];
      if (group.footprint_bytes > best.bytes) best = {group.footprint_bytes, &it};
    }
  }
  for (auto& [key, best] : largest) best.which->is_largest_kernel = true;
}

}  // namespace

std::string planned_group::label() const {
  const std::string size =
      bytes_per_array ? format_bytes(static_cast<std::uint64_t>(*bytes_per_array)) : named_values(shape);
  return fmt::format("{} {}{} {}", op, dtype, layout == "right" ? "" : " " + layout, size);
}

void planned_group::set_resolved(const protocol::resolve_answer& resolved) {
  const json told = protocol::write_message(resolved);
  shape = told.at("shape");
  parameters = told.at("parameters");
  model = told.at("model");
  if (resolved.bytes_per_array) bytes_per_array = static_cast<double>(*resolved.bytes_per_array);
  footprint_bytes = static_cast<double>(resolved.footprint_bytes);
}

json planned_group::result_stub(const worker_fleet& fleet, const planned_case& which) const {
  json result = blank_result();
  result["op"] = op;
  result["dtype"] = dtype;
  result["shape"] = shape;
  result["layout"] = layout;
  result["parameters"] = parameters;
  result["compute_mode"] = compute_mode;
  result["bytes_per_array"] = bytes_per_array ? json(static_cast<std::uint64_t>(*bytes_per_array)) : json();
  result["device"] = fleet.devices()[which.device].id;
  if (const auto threads = fleet.devices()[which.device].threads) result["threads"] = *threads;
  if (which.implementation) result["implementation"] = *which.implementation;
  result["data"] = which.data;
  if (which.host_memory) result["host_memory"] = *which.host_memory;
  result["cache"] = which.cache;
  result["dispatch"] = which.dispatch;
  if (model.is_object()) {
    result["bytes"] = model.value("bytes", json());
    result["flops"]["model"] = model.value("flops", json());
  }
  result["key"] = result_key(result);
  return result;
}

std::size_t bench_plan::case_count() const {
  std::size_t count = 0;
  for (const planned_group& group : groups) count += group.cases.size();
  return count;
}

bench_plan make_plan(const plan_options& options, worker_fleet& fleet) {
  bench_plan plan;
  const axis_choice choice = choose_axes(options);
  for (const op_choice& chosen : choose_ops(options, fleet, plan.notes)) {
    for (const std::string& dtype : chosen.dtypes) {
      for (const std::string& layout : chosen.layouts) {
        for (const auto& bytes : chosen.sizes) {
          std::string refusal = fmt::format("no worker supports {} for it", dtype);
          const auto resolved = resolve_shape(fleet, chosen, dtype, layout, bytes, refusal);
          if (!resolved) {
            plan.notes.push_back(fmt::format("{} {} is left out: {}", chosen.op, dtype, refusal));
            break;
          }
          planned_group group;
          group.op = chosen.op;
          group.dtype = dtype;
          group.layout = layout;
          group.compute_mode = chosen.compute_modes.front();
          group.set_resolved(*resolved);
          if (!group.bytes_per_array && bytes) group.bytes_per_array = static_cast<double>(*bytes);
          group.arrays = chosen.arrays;
          for (const std::string& mode : chosen.compute_modes) {
            planned_group with_mode = group;
            with_mode.compute_mode = mode;
            for (std::size_t i = 0; i < fleet.devices().size(); ++i) add_cases(with_mode, i, fleet, choice);
            plan.groups.push_back(std::move(with_mode));
          }
        }
      }
    }
  }
  if (plan.groups.empty()) {
    const bool shares_too_little = std::ranges::any_of(fleet.devices(), [&](const fleet_device& it) {
      return it.missing.empty() && !fleet.worker(it.worker).why_unmeasurable().empty();
    });
    throw program_error(shares_too_little ? exit_code::machine_cannot : exit_code::wrong_usage,
                        plan.notes.empty() ? "these options leave nothing to measure"
                                           : fmt::format("nothing to measure: {}", plan.notes.front()));
  }
  refuse_if_nothing_fits(plan);
  mark_largest_kernels(plan, fleet);
  return plan;
}

memory_roof memory_roof_of(const planned_group& group) {
  const auto bytes = cost_model::from_json(group.model).bytes;
  const bool known = bytes && group.bytes_per_array && *group.bytes_per_array > 0;
  return roof_of(known ? std::optional(*bytes / *group.bytes_per_array) : std::nullopt, group.arrays);
}

std::string plan_table(const bench_plan& plan, const worker_fleet& fleet, const text_style& style) {
  using align = text_table::align;
  using role = text_table::role;
  text_table table({{"operation", align::left},
                    {"type", align::left, role::axis},
                    {"size", align::right, role::axis},
                    {"shape", align::left, role::axis},
                    {"device", align::left, role::axis},
                    {"implementation", align::left, role::axis},
                    {"data", align::left, role::axis},
                    {"cache", align::left, role::axis},
                    {"", align::left, role::prose}});
  for (const planned_group& group : plan.groups) {
    for (const planned_case& it : group.cases) {
      std::string data = it.host_memory ? fmt::format("{} ({})", it.data, *it.host_memory) : it.data;
      if (it.dispatch == "single") data += ", single calls";
      table.add_row({{group.op},
                     {group.dtype},
                     {group.bytes_per_array ? format_bytes(static_cast<std::uint64_t>(*group.bytes_per_array)) : ""},
                     {named_values(group.shape)},
                     {fleet.devices()[it.device].label()},
                     {it.implementation.value_or("")},
                     {data},
                     {it.cache},
                     {it.outcome ? fmt::format("{}: {}", it.outcome->status, it.outcome->reason) : ""}});
    }
  }
  return table.render(style);
}

}  // namespace prumo::bench
