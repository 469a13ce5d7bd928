// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results/results_file.hpp"

#include "privacy/anonymous.hpp"
#include "results/result_fields.hpp"
#include "results/results_schema.hpp"
#include "results/results_text.hpp"
#include "results/run_conditions.hpp"
#include "results/run_record.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace prumo::bench {

namespace {

using nlohmann::json;

std::string case_of(std::string_view key, std::string_view device) {
  return fmt::format("{}\n{}", key, device);  // neither has line breaks: keys encode them, ids are words
}

/// The run that writes to a file now.
const json& current_run(const json& run) {
  const auto resumed = run.find("resumed");
  return resumed != run.end() && !resumed->empty() ? resumed->back() : run;
}

/// Adds what an older prumo did not write: the conditions of the last run, and the run of each result if there was only
/// one.
void complete_older_file(json& document) {
  json& run = document.at("run");
  json& last = run.contains("resumed") ? run["resumed"].back() : run;
  last.emplace("conditions", last_conditions(document));
  if (run.contains("resumed")) return;
  for (json& result : document.at("results")) result.emplace("run_id", run.at("id"));
}

/// Of one id there are several entries where numbers of threads were chosen.
bool is_same_device(const json& one, const json& other) {
  return one.at("id") == other.at("id") && one.value("threads", json()) == other.value("threads", json());
}

const json* find_same_device(const json& devices, const json& device) {
  const auto found = std::ranges::find_if(devices, [&](const json& it) { return is_same_device(it, device); });
  return found == devices.end() ? nullptr : &*found;
}

}  // namespace

void check_same_devices(const std::string& path, const json& earlier, const json& devices) {
  for (const json& device : devices) {
    const std::string id = text_of(field(device, "/id"));
    const json* same = find_same_device(earlier, device);
    for (const json& known : earlier) {
      if (text_of(field(known, "/id")) != id || (same != nullptr && same != &known)) continue;
      for (const char* fact : {"backend", "name", "threads"}) {
        if (known.at(fact) == device.at(fact)) continue;
        throw file_error(file_error::cause::input,
                         fmt::format("{}: cannot be resumed here: '{}' of its device {} is {} in the file and {} "
                                     "here; resume on the machine where it began and with as many threads, or name "
                                     "another file",
                                     sanitize(path), fact, sanitize(id), sanitize(known.at(fact).dump()),
                                     sanitize(device.at(fact).dump())));
      }
    }
  }
}

void check_replaceable(const output_file& file, bool force) {
  if (!file.is_regular() || !file.had_content()) return;
  json document;
  try {
    document = load_results(file.path());
  } catch (const file_error& error) {
    throw file_error(error.why(),
                     fmt::format("{}; it is not overwritten: move it away or name another file", error.what()));
  }
  if (force) return;
  const std::size_t results = document.at("results").size();
  const std::string started = text_of(field(document, "/run/started"));
  refuse_file(file.path(),
              fmt::format("holds {} already{}; --force replaces it once there is a new result, or name another file",
                          results == 0   ? "a description of devices"
                          : results == 1 ? "a result"
                                         : fmt::format("{} results", results),
                          started.empty() ? "" : fmt::format(" (measured {})", sanitize(started))));
}

results_writer::results_writer(const output_file& file, json run, json devices)
    : file_(&file), run_(std::move(run)), devices_(std::move(devices)), keeps_older_(file.had_content()) {}

results_writer results_writer::resume(const output_file& file, json document, json run, json devices) {
  if (!file.is_regular()) {
    throw file_error(
        file_error::cause::input,
        fmt::format("'{}' cannot be resumed: name the results file of the interrupted run", sanitize(file.path())));
  }
  complete_older_file(document);
  results_writer writer(file);
  writer.run_ = std::move(document.at("run"));
  writer.run_["resumed"].push_back(std::move(run));
  writer.devices_ = std::move(document.at("devices"));
  check_same_devices(file.path(), writer.devices_, devices);
  for (json& device : devices) {
    // Ceilings of the first run stay until new ones are measured.
    const json* earlier = find_same_device(writer.devices_, device);
    if (earlier != nullptr && device.value("ceilings", json::array()).empty()) {
      device["ceilings"] = earlier->at("ceilings");
    }
    writer.set_device(std::move(device));
  }
  for (json& result : document.at("results")) writer.store(std::move(result));
  return writer;
}

void results_writer::store(json result) {
  const std::string key = text_of(field(result, "/key"));
  const std::string device = text_of(field(result, "/device"));
  const std::string implementation = text_of(field(result, "/implementation"));
  std::string line = dump_result_line(result);
  std::vector<std::size_t>& places = by_case_[case_of(key, device)];
  for (const std::size_t place : places) {
    const std::string earlier = text_of(field(results_[place], "/implementation"));
    // A case that failed before its implementation was known is the one that is tried again now.
    if (earlier != implementation && !(earlier.empty() && results_[place].at("status") == "failed")) continue;
    results_[place] = std::move(result);
    lines_[place] = std::move(line);
    return;
  }
  places.push_back(results_.size());
  results_.push_back(std::move(result));
  lines_.push_back(std::move(line));
}

void results_writer::add(json result) {
  if (text_of(field(result, "/key")).empty()) {
    try {
      result["key"] = result_key(result);
    } catch (const json::exception& error) {
      throw file_error(file_error::cause::input, fmt::format("a result without its case: {}", error.what()));
    }
  }
  result["run_id"] = field(current_run(run_), "/id");
  result["measured"] = utc_now();
  if (const auto violations = validate_result(result); !violations.empty()) {
    throw file_error(file_error::cause::input,
                     fmt::format("result {} breaks the format {} at {}: {}", text_of(field(result, "/key")),
                                 results_schema_name, violations.front().path, violations.front().message));
  }
  store(std::move(result));
  dirty_ = true;
  const auto now = std::chrono::steady_clock::now();
  const auto interval = interval_.count() > 0 ? std::max(interval_, least_interval_) : interval_;
  if (!last_write_ || now - *last_write_ >= interval) write();
}

void results_writer::set_device(json device) {
  dirty_ = true;
  for (json& earlier : devices_) {
    if (!is_same_device(earlier, device)) continue;
    earlier = std::move(device);
    return;
  }
  devices_.push_back(std::move(device));
}

void results_writer::end_group() {
  if (dirty_ && !results_.empty()) write();
}

bool results_writer::has_measured() const {
  return std::ranges::any_of(results_, [](const json& result) { return result.at("status") == "ok"; });
}

void results_writer::tell(const std::string& note) const {
  if (tell_) tell_(note);
}

void results_writer::write() {
  if (!file_->is_regular() || (keeps_older_ && !has_measured())) return;
  const auto start = std::chrono::steady_clock::now();
  try {
    file_->write(anonymous_ ? dump_results(anonymized(document())) : dump_document(run_, devices_, lines_));
    dirty_ = false;
    if (std::exchange(failed_, false)) tell(fmt::format("{} is written again, and lacks nothing", file_->path()));
  } catch (const file_error& error) {
    if (!std::exchange(failed_, true)) {
      tell(fmt::format("{}. Measuring goes on, and writing is tried again", error.what()));
    }
  }
  last_write_ = std::chrono::steady_clock::now();
  // A long file on a slow disk: writing must not take more than a tenth of the time.
  least_interval_ = std::chrono::duration_cast<std::chrono::milliseconds>(10 * (*last_write_ - start));
}

const json* results_writer::find(std::string_view key, std::string_view device, std::string_view implementation) const {
  const auto places = by_case_.find(case_of(key, device));
  if (places == by_case_.end()) return nullptr;
  for (const std::size_t place : places->second) {
    const std::string known = text_of(field(results_[place], "/implementation"));
    if (implementation.empty() || known.empty() || known == implementation) return &results_[place];
  }
  return nullptr;
}

json results_writer::document() const {
  json results = json::array();
  for (const json& result : results_) results.push_back(result);
  return {{"schema", results_schema_name}, {"run", run_}, {"devices", devices_}, {"results", std::move(results)}};
}

}  // namespace prumo::bench
