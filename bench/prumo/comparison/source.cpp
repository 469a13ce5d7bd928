// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comparison/source.hpp"

#include "comparison/foreign_formats.hpp"
#include "privacy/anonymous.hpp"
#include "results/json_text.hpp"
#include "results/result_fields.hpp"
#include "results/results_file.hpp"
#include "results/results_schema.hpp"
#include "results/results_text.hpp"
#include "results/run_conditions.hpp"
#include "statistics/statistics.hpp"
#include "terminal/text.hpp"
#include <prumo/files/input_file.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <unordered_map>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& name, std::string_view what) {
  throw file_error(file_error::cause::input, fmt::format("{}: {}", sanitize(name), what));
}

/// The rounds of a run with this many samples; none where the file does not tell, or tells of more samples than it has.
std::vector<std::size_t> rounds_of_run(const json& rounds, std::size_t run, std::size_t samples) {
  std::vector<std::size_t> counts;
  if (!rounds.is_array() || run >= rounds.size() || !rounds[run].is_array()) return counts;
  for (const json& entry : rounds[run]) {
    if (!entry.is_number_unsigned() || entry > samples) return {};
    counts.push_back(entry.get<std::size_t>());
    samples -= counts.back();
  }
  return counts;
}

/// The samples of a result, a list for each process run: empty for one that gave none, so that numbers stay comparable.
process_runs runs_of(const json& result) {
  const json& samples = field(result, "/time_s/samples");
  if (!samples.is_array() || samples.empty()) return {};
  const auto all = samples.get<std::vector<double>>();
  const json& counts = field(result, "/time_s/runs");
  const json& rounds = field(result, "/time_s/rounds");
  process_runs runs;  // an empty one gave nothing
  std::size_t begin = 0;
  if (counts.is_array()) {
    for (const json& entry : counts) {
      if (!entry.is_number_integer() || entry < 0 || entry > all.size() - begin) return {process_run(all)};
      const auto count = entry.get<std::size_t>();
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
      runs.emplace_back(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(count)),
                        rounds_of_run(rounds, runs.size(), count));
      begin += count;
    }
  }
  if (begin == all.size() && begin > 0) return runs;
  return {process_run(all, rounds_of_run(rounds, 0, all.size()))};
}

/// The text with null for numbers that are not finite: Google Benchmark writes them, though JSON has no word for them.
std::string without_bare_words(std::string_view text) {
  std::string result;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      result.append(text.substr(i++, 2));
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    std::size_t length = 0;
    if (!quoted) {
      for (const std::string_view word : {"-Infinity", "Infinity", "-NaN", "NaN"}) {
        if (text.substr(i).starts_with(word)) {
          length = word.size();
          break;
        }
      }
    }
    if (length == 0) {
      result += text[i];
    } else {
      result += "null";
      i += length - 1;
    }
  }
  return result;
}

json parse_any(std::string_view text, const std::string& name) {
  try {
    return parse_json(text, name);
  } catch (const file_error&) {
    const std::string repaired = without_bare_words(text);
    if (repaired == text) throw;
    json document;
    try {
      document = parse_json(repaired, name);
    } catch (const file_error&) {
      document = nullptr;
    }
    if (!is_google_benchmark(document)) throw;
    return document;
  }
}

}  // namespace

std::string measurement::text(const char* pointer) const { return text_of(field(result, pointer)); }

bool measurement::ran() const { return text("/status") == "ok" && seconds(); }

std::optional<double> measurement::seconds() const {
  if (!runs.empty()) {
    std::vector<double> medians;
    for (const process_run& run : runs) {
      if (!run.samples.empty()) medians.push_back(quantile(run.samples, 0.5));
    }
    return medians.empty() ? std::nullopt : std::optional(quantile(medians, 0.5));
  }
  if (moments) return moments->mean;
  return number_of(field(result, "/time_s/median"));
}

comparison_source source_of_results(json document, std::string name) {
  comparison_source source;
  source.name = std::move(name);
  source.format = results_schema_name;
  if (const std::string mixed = describe_mixed_conditions(document); !mixed.empty()) {
    source.notes.push_back(fmt::format("{}: {}", source.name, mixed));
  }
  source.run = std::move(document.at("run"));
  // Entries of one id differ in their numbers of threads; a result for which none was chosen means the first.
  std::unordered_map<std::string, std::size_t> device_places;
  const auto with_threads = [](const std::string& id, const json& threads) {
    return threads.is_number() ? fmt::format("{}\n{}", id, threads.dump()) : id;
  };
  for (json& device : document.at("devices")) {
    const std::string id = device.at("id");
    if (!device_places.emplace(with_threads(id, device.at("threads")), source.devices.size()).second) {
      source.notes.push_back(
          fmt::format("{}: describes its device {} twice; the first description counts", source.name, id));
      continue;
    }
    device_places.emplace(id, source.devices.size());
    source.devices.push_back(std::move(device));
  }
  std::unordered_map<std::string, std::size_t> row_places;
  std::size_t repeated = 0;
  for (json& result : document.at("results")) {
    const std::string id = result.at("device");
    auto place = device_places.find(with_threads(id, field(result, "/threads")));
    if (place == device_places.end()) place = device_places.find(id);
    if (place == device_places.end()) {
      place = device_places.emplace(id, source.devices.size()).first;
      source.devices.push_back({{"id", id},
                                {"backend", id.substr(0, id.find(':'))},
                                {"name", nullptr},
                                {"threads", nullptr},
                                {"facts", json::object()}});
      source.notes.push_back(fmt::format("{}: has results of {}, but does not describe it", source.name, id));
    }
    result.emplace("dispatch", "recorded");  // what files of before there was a choice do not say
    measurement row;
    row.runs = runs_of(result);
    row.device = place->second;
    row.published = field(result, "/published").is_object();
    row.throttle = throttle_reasons(result);
    const std::string identity =
        fmt::format("{}\n{}\n{}", result.at("key").get<std::string>(), id, text_of(field(result, "/implementation")));
    row.result = std::move(result);
    if (row.published) row.runs.clear();
    const auto [known, first] = row_places.emplace(identity, source.rows.size());
    if (first) {
      source.rows.push_back(std::move(row));
    } else {
      source.rows[known->second] = std::move(row);
      ++repeated;
    }
  }
  if (repeated > 0) {
    source.notes.push_back(
        fmt::format("{}: has {} {} twice (same case, device and implementation); the last one counts", source.name,
                    repeated, repeated == 1 ? "result" : "results"));
  }
  return source;
}

comparison_source read_source(std::string_view text, const std::string& name, const std::string& folder) {
  json document = parse_any(text, name);
  const std::string schema = text_of(field(document, "/schema"));
  comparison_source source;
  if (schema.starts_with("prumo.results/")) {
    source = source_of_results(checked_results(std::move(document), name), name);
  } else if (schema.starts_with("prumo.comparison/")) {
    refuse(name, "is the output of prumo compare; name the results files that it compared");
  } else if (is_google_benchmark(document)) {
    source = read_google_benchmark(document, name);
  } else if (is_nvbench(document)) {
    source = read_nvbench(document, name, folder);
  } else {
    refuse(name, fmt::format("is JSON, but in no format that can be compared. These are {}, the output of nvbench "
                             "--json, and that of Google Benchmark with --benchmark_out",
                             results_schema_name));
  }
  if (source.rows.empty()) {
    refuse(name, "holds no results; measure some with `prumo bench -o FILE`, or leave the file out");
  }
  return source;
}

comparison_source load_source(const std::string& path) {
  return read_source(read_text(path), input_name(path), std::filesystem::path(path).parent_path().string());
}

comparison_source anonymized(comparison_source source) {
  source.name = anonymized_text(source.name, source.run);
  for (std::string& note : source.notes) note = anonymized_text(note, source.run);
  json document = {{"run", std::move(source.run)}, {"devices", std::move(source.devices)}, {"results", json::array()}};
  for (measurement& row : source.rows) document["results"].push_back(std::move(row.result));
  document = anonymized(std::move(document));
  source.run = std::move(document["run"]);
  source.devices = document["devices"].get<std::vector<json>>();
  for (std::size_t i = 0; i < source.rows.size(); ++i) source.rows[i].result = std::move(document["results"][i]);
  return source;
}

}  // namespace prumo::bench
