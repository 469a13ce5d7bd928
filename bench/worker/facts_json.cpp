// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "facts_json.hpp"

#include <string>
#include <type_traits>
#include <variant>

namespace prumo::worker {
namespace {

using protocol::json;

json to_json(const backend::fact_value& fact) {
  return std::visit(
      [](const auto& known) -> json {
        using type = std::decay_t<decltype(known)>;
        if constexpr (std::is_same_v<type, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<type, backend::fact_value::list>) {
          json list = json::array();
          for (const backend::fact_value& entry : known) list.push_back(to_json(entry));
          return list;
        } else if constexpr (std::is_same_v<type, backend::fact_value::object>) {
          json object = json::object();
          for (const backend::fact& member : known) object[member.name] = to_json(member.value);
          return object;
        } else {
          return known;
        }
      },
      fact.value);
}

json to_json(const std::optional<dtype>& type) { return type ? json(std::string(dtype_name(*type))) : json(); }
json to_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

json to_json(const backend::peak& peak) {
  return {{"unit", std::string(backend::peak_unit_name(peak.unit))},
          {"dtype", to_json(peak.type)},
          {"accumulator", to_json(peak.accumulator)},
          {"inputs", peak.inputs.empty() ? json() : json(std::string(peak.inputs))},
          {"value", to_json(peak.value)},
          {"clock", std::string(backend::peak_clock_name(peak.clock))},
          {"clock_mhz", to_json(peak.clock_mhz)},
          {"source", peak.source}};
}

}  // namespace

protocol::device_summary summarize(const backend::device_facts& facts, bool transfers) {
  const auto threads = transfers ? std::nullopt : std::optional(facts.threads);
  return {facts.id, facts.backend, facts.name, threads, transfers};
}

protocol::device_answer describe(const backend::device_facts& facts, const std::vector<backend::peak>& peaks,
                                 bool transfers) {
  protocol::device_answer answer;
  answer.device = summarize(facts, transfers);
  for (const backend::fact& fact : backend::flattened(facts)) answer.facts[fact.name] = to_json(fact.value);
  for (const backend::peak& peak : peaks) answer.peaks.push_back(to_json(peak));
  return answer;
}

}  // namespace prumo::worker
