// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case_choice.hpp"
#include "device_memory.hpp"
#include "facts_json.hpp"
#include "kokkos_session.hpp"
#include "measured_calls.hpp"
#include "measured_sample.hpp"
#include "net_sessions.hpp"
#include <prumo/backend/host_blas.hpp>
#include <prumo/case/count_proof.hpp>
#include <prumo/case/prepared_case.hpp>
#include <prumo/case/registry.hpp>
#include <prumo/detail/streaming_store.hpp>
#include <prumo/error.hpp>
#include <prumo/machine/device_facts.hpp>
#include <prumo/serving/memory_limit.hpp>
#include <prumo/serving/sampling.hpp>
#include <prumo/serving/server.hpp>
#include <prumo/serving/surroundings.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace prumo::worker {

/// Answers requests with the cases of one execution space, all on one instance of it.
template <class Exec>
class worker_handler final : public protocol::request_handler {
 public:
  worker_handler(const cases::case_registry<Exec>& registry, std::string program)
      : registry_(registry),
        program_(std::move(program)),
        facts_(machine::facts_of(instance_, machine::clock_probe::skip)),
        nets_(instance_, facts_.id, facts_.name, last_level_cache_bytes()) {}

  protocol::hello_answer hello() override {
    protocol::hello_answer answer;
    protocol::worker_description& worker = answer.worker;
    worker.name = program_;
    worker.version = protocol::prumo_version();
    worker.backend = facts_.backend;
    const std::string blas = backend::host_blas_description();
    worker.versions = {{"kokkos", kokkos_version()},
                       {"compiler", protocol::compiler_version()},
                       {"blas", blas.empty() ? protocol::json() : protocol::json(blas)}};
    worker.build = protocol::build_description();
    // The facts of the device say whether threads are bound.
    append(worker.warnings, protocol::surrounding_warnings(false));
    append(worker.warnings, kokkos_warnings());
    if constexpr (is_host_space<Exec>) append(worker.warnings, backend::host_blas_warnings());
    append(worker.warnings, facts_.warnings);
    answer.devices.push_back(summarize(facts_, !is_host_space<Exec>));
    for (const auto& operation : registry_.all()) {
      answer.cases.push_back(describe(operation->info(), array_count(*operation)));
    }
    answer.workloads = net_sessions<Exec>::descriptions();
    return answer;
  }

  protocol::device_answer device(const protocol::device_request& request) override {
    require_device(request.device);
    const auto probe = request.clocks ? machine::clock_probe::run : machine::clock_probe::skip;
    const machine::device_facts facts = machine::facts_of(instance_, probe);
    return describe(facts, machine::peaks_of(instance_, facts), !is_host_space<Exec>);
  }

  protocol::resolve_answer resolve(const protocol::resolve_request& request) override {
    const cases::operation_case<Exec>& operation = find(request.op);
    const cases::case_info info = operation.info();
    cases::specification choice = choose(info, request);
    choice.shape = shape_of(operation, choice.type, request, request.bytes_per_array.value_or(0));
    require_valid(operation, choice);
    const auto arrays = operation.arrays(choice.shape, choice.values);
    protocol::resolve_answer answer;
    answer.shape.assign(choice.shape.begin(), choice.shape.end());
    answer.parameters.assign(choice.values.begin(), choice.values.end());
    answer.footprint_bytes = checked_footprint(arrays, choice);
    answer.bytes_per_array = request.bytes_per_array.value_or(largest_array_bytes(arrays, choice.type));
    const cases::cost model = operation.model(choice.type, choice.shape, choice.values);
    answer.model = {model.bytes, model.flops, model.elements, std::string(model.unit)};
    return answer;
  }

  protocol::prepare_answer prepare(const protocol::prepare_request& request) override {
    require_device(request.device);
    const cases::operation_case<Exec>& operation = find(request.op);
    const cases::case_info info = operation.info();
    cases::specification choice = choose(info, request);
    complete(choice, info, request);
    if (request.transferred) require_transfers<Exec>();
    choice.shape = shape_of(operation, choice.type, request, 0);
    require_valid(operation, choice);
    prove_count(operation, choice);
    const std::vector<cases::array_specification> arrays = operation.arrays(choice.shape, choice.values);
    const auto footprint = static_cast<std::size_t>(checked_footprint(arrays, choice));
    if (const std::string reason = operation.why_unsupported(choice); !reason.empty()) throw unsupported_error(reason);
    const std::size_t touched = cases::touched_bytes(arrays, choice.type, choice.layout);
    const std::size_t copies = request.cold ? protocol::cold_copies(footprint, touched, last_level_cache_bytes()) : 1;
    const std::size_t allocated = cases::prepared_case<Exec>::allocated_bytes(arrays, choice, copies);
    require_device_memory(instance_, case_label(choice), static_cast<std::int64_t>(allocated));
    if (request.transferred) {
      protocol::require_memory(case_label(choice) + " on the host", static_cast<std::int64_t>(footprint));
    }

    auto prepared = std::make_unique<open_case>(instance_, operation, choice, copies, touched, request);
    const std::int64_t id = ++last_id_;
    protocol::prepare_answer answer;
    answer.case_id = id;
    answer.implementation = operation.implementation_name(choice);
    answer.copies = static_cast<std::int64_t>(copies);
    answer.footprint_bytes = static_cast<std::int64_t>(prepared->prepared.footprint_bytes());
    answer.clock = prepared->calls->has_device_clock() ? "device" : "wall";
    answer.dispatch = prepared->calls->is_single() ? "single" : "recorded";
    answer.unit = std::string(operation.unit(choice));
    open_.emplace(id, std::move(prepared));
    return answer;
  }

  protocol::verify_answer verify(const protocol::verify_request& request) override {
    // A reference of this many operations takes a few tenths of a second.
    constexpr double usual_budget = 3e7;
    open_case& verified = find_open(request.case_id);
    const cases::check_result result = verified.verify(request.budget.value_or(usual_budget));
    return {result.verified,
            result.error,
            result.error_bound,
            result.checked,
            std::string(result.method),
            result.message,
            verified.calls->settled_dispatch()};
  }

  protocol::count_answer count(const protocol::count_request& request) override {
    const cases::operation_case<Exec>& operation = find(request.op);
    const cases::case_info info = operation.info();
    cases::specification choice = choose(info, request);
    choice.shape = shape_of(operation, choice.type, request, 0);
    protocol::count_answer answer;
    if (!operation.countable()) return answer;
    require_valid(operation, choice);
    prove_count(operation, choice);
    const bool run = operation.model(choice.type, choice.shape, choice.values).flops <= request.limit;
    const flop_counts counts = run ? cases::proven_count(operation, choice) : operation.count_closed_form(choice);
    answer.source = run ? "kernel" : "closed_form";
    for (std::size_t kind = 0; kind < flop_kind_count; ++kind) {
      const auto which = static_cast<flop_kind>(kind);
      if (counts[which] > 0) answer.kinds.emplace_back(flop_kind_name(which), counts[which]);
    }
    answer.kinds.emplace_back("total", counts.total());
    answer.implementation = operation.counted_implementation();
    return answer;
  }

  protocol::sample_answer sample(const protocol::sample_request& request) override {
    open_case& sampled = find_open(request.case_id);
    return measure_sample<Exec>(instance_, sampled.measured, request.seconds, sampled.transfers);
  }

  void release(std::int64_t case_id) override {
    find_open(case_id);
    open_.erase(case_id);
  }

  protocol::workload_handler* workloads() override { return &nets_; }

  protocol::error_kind kind_of(const std::exception& cause) const override {
    using protocol::error_kind;
    if (dynamic_cast<const cases::count_error*>(&cause) != nullptr) return error_kind::failed;
    if (dynamic_cast<const unsupported_error*>(&cause) != nullptr) return error_kind::unsupported;
    if (dynamic_cast<const memory_error*>(&cause) != nullptr) return error_kind::memory;
    if (dynamic_cast<const backend_error*>(&cause) != nullptr) {
      return is_host_space<Exec> ? error_kind::failed : error_kind::device;
    }
    if (dynamic_cast<const error*>(&cause) != nullptr) return error_kind::usage;
    return request_handler::kind_of(cause);
  }

 private:
  /// A case with everything that its measurement needs. Each case has its own context, because it sets the working set
  /// to the bytes of its own copies.
  struct open_case {
    /// \param touched the bytes that a call reads and writes
    open_case(const Exec& instance, const cases::operation_case<Exec>& operation, const cases::specification& choice,
              std::size_t copies, std::size_t touched, const protocol::prepare_request& request)
        : owner(instance),
          prepared(owner, operation, choice, copies),
          calls(make_calls(request)),
          measured(*calls, copies) {
      // A cold case stands for a program that touches all its copies in turn.
      if (request.cold) owner.set_working_set(copies * touched);
    }

    /// Compares what an interval writes, whose calls are made exactly as those of the samples.
    cases::check_result verify(double budget) {
      measured.calibrate();
      const std::size_t copy = measured.last_copy();
      const auto calls_of_interval = [&] {
        calls->begin_verification(copy);
        if (prepared.reads_results()) {
          calls->run_once(copy);  // the reference knows the result of one call only
        } else {
          measured.run_interval();
        }
        calls->end_verification(copy);
      };
      return prepared.verify(budget, calls_of_interval, nullptr, copy);
    }

    context<Exec> owner;
    cases::prepared_case<Exec> prepared;
    transferred_calls<Exec>* transfers = nullptr;  ///< the calls, where they contain copies
    std::unique_ptr<device_calls<Exec>> calls;
    protocol::sampler measured;

   private:
    std::unique_ptr<device_calls<Exec>> make_calls(const protocol::prepare_request& request) {
      if (!request.transferred) return std::make_unique<resident_calls<Exec>>(prepared, request.single_calls);
      const bool pinned = request.host_memory.value_or("pinned") == "pinned";
      auto made = std::make_unique<transferred_calls<Exec>>(prepared, pinned);
      transfers = made.get();
      return made;
    }
  };

  static int array_count(const cases::operation_case<Exec>& operation) {
    const cases::case_info info = operation.info();
    cases::parameters values;
    for (const cases::parameter& parameter : info.values) values.set(parameter.name, parameter.fallback);
    constexpr std::int64_t any_size = std::int64_t{1} << 20;
    return static_cast<int>(operation.arrays(operation.resolve(info.types.front(), any_size, {}), values).size());
  }

  const cases::operation_case<Exec>& find(const std::string& op) const {
    if (const cases::operation_case<Exec>* found = registry_.find(op)) return *found;
    std::string known;
    for (const auto& operation : registry_.all()) known += (known.empty() ? "" : ", ") + operation->info().op;
    throw protocol::request_error(protocol::error_kind::usage,
                                  "there is no operation '" + op + "'; there are: " + known);
  }

  /// The complete shape. Without a size, all axes that have no default must be given.
  static cases::shape shape_of(const cases::operation_case<Exec>& operation, dtype type,
                               const protocol::case_request& request, std::int64_t bytes_per_array) {
    const cases::case_info info = operation.info();
    cases::shape given = given_shape(info, request);
    for (const cases::axis& axis : info.axes) {
      if (given.contains(axis.name) || bytes_per_array > 0) continue;
      if (axis.fallback == 0) {
        throw protocol::request_error(protocol::error_kind::usage,
                                      info.op + ": axis " + axis.name + " is given neither by the shape nor by a size");
      }
      given.set(axis.name, axis.fallback);
    }
    return operation.resolve(type, bytes_per_array, given);
  }

  static void require_valid(const cases::operation_case<Exec>& operation, const cases::specification& choice) {
    const std::string reason = operation.why_invalid(choice);
    if (!reason.empty()) throw protocol::request_error(protocol::error_kind::usage, case_label(choice) + ": " + reason);
  }

  /// Proves the counted flops, once for each operation, type and set of parameters. If they are wrong, nothing is
  /// measured, because rates and the model follow from them. Throws count_error.
  void prove_count(const cases::operation_case<Exec>& operation, cases::specification choice) {
    choice.shape = {};
    const std::string key = cases::label_of(choice);
    if (proven_counts_.contains(key)) return;
    cases::prove_closed_form(operation, choice);
    proven_counts_.insert(key);
  }

  open_case& find_open(std::int64_t id) {
    const auto found = open_.find(id);
    if (found != open_.end()) return *found->second;
    throw protocol::request_error(protocol::error_kind::usage,
                                  "there is no case " + std::to_string(id) + ": it was never prepared, or released");
  }

  void require_device(const std::string& id) const {
    if (id == facts_.id) return;
    throw protocol::request_error(protocol::error_kind::usage,
                                  "there is no device '" + id + "' here; there is: " + facts_.id);
  }

  std::size_t last_level_cache_bytes() const {
    std::size_t bytes = is_host_space<Exec> ? detail::last_level_cache_bytes() : 0;
    if (facts_.cache_llc_bytes) bytes = std::max(bytes, static_cast<std::size_t>(*facts_.cache_llc_bytes));
    return bytes;
  }

  const cases::case_registry<Exec>& registry_;
  std::string program_;
  Exec instance_;
  machine::device_facts facts_;
  std::map<std::int64_t, std::unique_ptr<open_case>> open_;
  std::int64_t last_id_ = 0;
  std::set<std::string> proven_counts_;
  net_sessions<Exec> nets_;
};

}  // namespace prumo::worker
