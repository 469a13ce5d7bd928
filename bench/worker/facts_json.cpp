// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "facts_json.hpp"

#include <string>
#include <type_traits>
#include <variant>

namespace prumo::worker {
namespace {

using protocol::json;

json to_json(const machine::fact_value& fact) {
  return std::visit(
      [](const auto& known) -> json {
        using type = std::decay_t<decltype(known)>;
        if constexpr (std::is_same_v<type, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<type, machine::fact_value::list>) {
          json list = json::array();
          for (const machine::fact_value& entry : known) list.push_back(to_json(entry));
          return list;
        } else if constexpr (std::is_same_v<type, machine::fact_value::object>) {
          json object = json::object();
          for (const machine::fact& member : known) object[member.name] = to_json(member.value);
          return object;
        } else {
          return known;
        }
      },
      fact.value);
}

json to_json(const std::optional<dtype>& type) { return type ? json(std::string(dtype_name(*type))) : json(); }
json to_json(const std::optional<double>& value) { return value ? json(*value) : json(); }

json to_json(const machine::peak& peak) {
  return {{"unit", std::string(machine::peak_unit_name(peak.unit))},
          {"dtype", to_json(peak.type)},
          {"accumulator", to_json(peak.accumulator)},
          {"inputs", peak.inputs.empty() ? json() : json(std::string(peak.inputs))},
          {"value", to_json(peak.value)},
          {"clock", std::string(machine::peak_clock_name(peak.clock))},
          {"clock_mhz", to_json(peak.clock_mhz)},
          {"source", peak.source}};
}

}  // namespace

protocol::device_summary summarize(const machine::device_facts& facts, bool transfers) {
  const auto threads = transfers ? std::nullopt : std::optional(facts.threads);
  return {facts.id, facts.backend, facts.name, threads, transfers};
}

protocol::device_answer describe(const machine::device_facts& facts, const std::vector<machine::peak>& peaks,
                                 bool transfers) {
  protocol::device_answer answer;
  answer.device = summarize(facts, transfers);
  for (const machine::fact& fact : machine::flattened(facts)) answer.facts[fact.name] = to_json(fact.value);
  for (const machine::peak& peak : peaks) answer.peaks.push_back(to_json(peak));
  return answer;
}

}  // namespace prumo::worker
