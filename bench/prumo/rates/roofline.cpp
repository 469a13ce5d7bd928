// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rates/roofline.hpp"

#include "results/result_fields.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

bool is_wanted(const std::vector<std::string>& dtypes, const std::string& dtype) {
  return dtypes.empty() || std::ranges::find(dtypes, dtype) != dtypes.end();
}

/// Bytes a second of a memory's theoretical peak.
std::optional<double> memory_peak(const json& device) {
  std::optional<double> highest;
  for (const json& peak : field(device, "/peaks")) {
    const auto value = number_of(field(peak, "/value"));
    if (text_of(field(peak, "/unit")) == "memory" && value) highest = std::max(highest.value_or(0), *value);
  }
  return highest;
}

std::string compute_name(const json& peak) {
  std::string name = text_of(field(peak, "/unit"));
  if (const std::string sum = text_of(field(peak, "/accumulator")); !sum.empty()) name += " " + sum;
  const std::string clock = text_of(field(peak, "/clock"));
  return clock.empty() ? name : fmt::format("{} ({})", name, clock);
}

/// The roof that a result's share was computed from.
std::optional<roofline> own_roof(const json& result) {
  const auto memory = number_of(field(result, "/roof/memory"));
  const auto compute = number_of(field(result, "/roof/compute"));
  if (!memory || !compute) return std::nullopt;
  return roofline{text_of(result.at("dtype")),
                  text_of(result.at("cache")),
                  text_of(field(result, "/roof/memory_probe")),
                  compute_probe_of(result),
                  number_of(field(result, "/bytes_per_array")),
                  *memory,
                  *compute};
}

}  // namespace

std::string compute_probe_of(const json& result) {
  std::string from = text_of(field(result, "/roof/compute_from"));
  return from.empty() ? "fma" : from;
}

double roofline::at(double intensity) const { return std::min(compute, intensity * memory); }

std::string roofline::label() const {
  std::string text = memory_probe;
  if (!cache.empty()) text += ", " + cache;
  if (bytes_per_array) text += ", " + format_bytes(static_cast<std::uint64_t>(*bytes_per_array));
  return text + " | " + compute_from;
}

std::vector<roofline> rooflines_of(const json& device, const std::vector<std::string>& dtypes) {
  constexpr std::array<std::string_view, 4> memory_probes{"copy", "triad", "read", "write"};
  std::vector<roofline> roofs;
  double fastest_cold = 0;
  for (const json& arithmetic : field(device, "/ceilings")) {
    const std::string dtype = text_of(field(arithmetic, "/dtype"));
    const auto compute = number_of(field(arithmetic, "/value"));
    if (text_of(field(arithmetic, "/probe")) != "fma" || !compute || !is_wanted(dtypes, dtype)) continue;
    for (const json& memory : field(device, "/ceilings")) {
      const std::string probe = text_of(field(memory, "/probe"));
      const auto bandwidth = number_of(field(memory, "/value"));
      if (std::ranges::find(memory_probes, probe) == memory_probes.end() || !bandwidth) continue;
      if (text_of(field(memory, "/dtype")) != dtype) continue;
      const std::string cache = text_of(field(memory, "/cache"));
      roofs.push_back({dtype, cache, probe, "fma", number_of(field(memory, "/bytes_per_array")), *bandwidth, *compute});
      if (cache == "cold") fastest_cold = std::max(fastest_cold, *bandwidth);
    }
  }
  std::ranges::stable_sort(roofs, {}, [](const roofline& it) {
    return std::tuple(it.dtype, it.cache, it.memory_probe, it.bytes_per_array.value_or(0));
  });
  const auto theoretical = memory_peak(device);
  const double memory = theoretical.value_or(fastest_cold);
  for (const json& peak : field(device, "/peaks")) {
    const std::string dtype = text_of(field(peak, "/dtype"));
    const auto value = number_of(field(peak, "/value"));
    if (text_of(field(peak, "/unit")) == "memory" || !value || memory <= 0 || !is_wanted(dtypes, dtype)) continue;
    roofs.push_back({dtype, "", theoretical ? "peak" : "measured", compute_name(peak), std::nullopt, memory, *value});
  }
  return roofs;
}

const roofline* main_roof(const std::vector<roofline>& roofs, const std::string& dtype, const std::string& cache) {
  const roofline* best = nullptr;
  for (const roofline& it : roofs) {
    if (it.dtype != dtype || it.cache != cache) continue;
    // Where a run probed several sizes, the largest is the most of memory.
    const auto rank = [](const roofline& roof) {
      return std::tuple(roof.memory_probe == "triad", roof.bytes_per_array.value_or(0), roof.memory, roof.compute);
    };
    if (best == nullptr || rank(it) > rank(*best)) best = &it;
  }
  return best;
}

std::vector<roofline_point> points_of(const json& document, const json& device,
                                      const std::vector<std::string>& dtypes) {
  std::vector<roofline_point> points;
  for (const json& result : document.at("results")) {
    const auto seconds = number_of(field(result, "/time_s/median"));
    if (result.at("device") != device.at("id") || result.at("status") != "ok" || !seconds || *seconds <= 0) continue;
    const json& threads = field(result, "/threads");
    if (threads.is_number() && threads != field(device, "/threads")) continue;
    if (!is_wanted(dtypes, text_of(result.at("dtype")))) continue;
    roofline_point point{&result, 0, 0, own_roof(result)};
    const double flops = number_of(field(result, "/flops/model")).value_or(0);
    const double bytes = number_of(field(result, "/bytes")).value_or(0);
    // The copies of transferred data are no traffic of the device's memory.
    if (result.at("data") == "resident" && bytes > 0) {
      point.intensity = flops / bytes;
      point.rate = flops / *seconds;
    }
    points.push_back(std::move(point));
  }
  return points;
}

json rooflines_json(const std::vector<roofline>& roofs) {
  json list = json::array();
  for (const roofline& it : roofs) {
    json bytes;
    if (it.bytes_per_array) bytes = static_cast<std::uint64_t>(*it.bytes_per_array);
    list.push_back({{"dtype", it.dtype},
                    {"cache", it.cache.empty() ? json() : json(it.cache)},
                    {"memory_probe", it.memory_probe},
                    {"bytes_per_array", std::move(bytes)},
                    {"memory", it.memory},
                    {"compute_from", it.compute_from},
                    {"compute", it.compute},
                    {"ridge", it.ridge()}});
  }
  return list;
}

}  // namespace prumo::bench
